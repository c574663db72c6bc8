# SPDX-License-Identifier: BSD-2-Clause
"""A script drives a recording through --control: what it is told, in which order; nothing it does harms the
recording."""

import os
import select
import socket
import time

from harness import PATIENCE_S, Profile, burn, expect, expect_equal, expect_match

BESIDE_OTHERS = True

NO_COMMAND = "error: not a command; give pause, resume, capture or stop"


class Controlled:
    """A recording and the script's end of its --control."""

    def __init__(self, test, *arguments, **rest):
        ours, theirs = socket.socketpair()
        self.ours, self.text = ours, b""
        test.at_end.append(ours.close)
        with theirs:
            self.recording = test.record("--control", theirs.fileno(), *arguments, pass_fds=(theirs.fileno(),), **rest)

    def send(self, data):
        self.ours.sendall(data if isinstance(data, bytes) else data.encode())

    def line(self):
        """The next line; None: there will be no more."""
        end = time.monotonic() + PATIENCE_S
        while b"\n" not in self.text:
            ready = select.select([self.ours], [], [], max(0, end - time.monotonic()))[0]
            expect(ready, f"waited {PATIENCE_S} s in vain for a line of --control; so far {self.text!r}")
            try:
                data = self.ours.recv(1 << 16)
            except ConnectionResetError:
                data = b""
            if not data:
                return None
            self.text += data
        line, self.text = self.text.split(b"\n", 1)
        return line.decode()

    def expect_line(self, wanted):
        expect_equal(self.line(), wanted, "the line of --control")

    def ask(self, command):
        self.send(command + "\n")
        self.expect_line(f"ok {command}")


def record_hot(test, *arguments):
    target = test.start_target("hot")
    controlled = Controlled(test, "--pid", target.pid, *arguments)
    controlled.expect_line("started")
    return target, controlled


def finish(controlled):
    """Stops it; returns the profile."""
    controlled.ask("stop")
    controlled.expect_line("stopped")
    controlled.expect_line(f"saved {controlled.recording.path}")
    profile = controlled.recording.finish()
    expect_equal(controlled.line(), None, "what comes after the end")
    return profile


def test_a_whole_recording(test):
    target, controlled = record_hot(test)
    burn(target.pid, 0.1)
    controlled.ask("capture")
    path = controlled.recording.path.replace(".json", "-1.json")
    controlled.expect_line(f"captured {path}")
    expect(Profile(path).main_thread(target.pid).samples(), "the capture is empty")
    # As soon as one is there, another may be asked for.
    controlled.ask("capture")
    controlled.expect_line(f"captured {path.replace('-1.', '-2.')}")
    expect(finish(controlled).main_thread(target.pid).samples(), "the profile is empty")


def test_pause(test):
    target, controlled = record_hot(test)
    burn(target.pid, 0.1)
    controlled.ask("pause")
    paused_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    controlled.send("pause\n")
    controlled.expect_line("error pause: paused")
    select.select([], [], [], 0.3)
    resuming_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    controlled.ask("resume")
    controlled.send("resume\n")
    controlled.expect_line("error resume: recording")
    burn(target.pid, 0.1)
    profile = finish(controlled)
    start_ns = profile.meta["startTimeAsClockMonotonicNanosecondsSinceBoot"]
    times = [start_ns + row.time_ms * 1e6 for row in profile.main_thread(target.pid).samples()]
    expect_equal([time_ns for time_ns in times if paused_ns < time_ns < resuming_ns], [], "samples during the pause")
    expect(any(time_ns < paused_ns for time_ns in times), "no samples before the pause")
    expect(any(time_ns > resuming_ns for time_ns in times), "no samples after the pause")
    expect_equal(len(profile.raw["pausedRanges"]), 1, "paused ranges")


def test_started_means_that_samples_come(test):
    """With a delay it comes when that is over, and until then nothing else can be asked for."""
    target = test.start_target("hot")
    controlled = Controlled(test, "--pid", target.pid, "--delay", 0.8)
    controlled.recording.wait_started()
    controlled.send("pause\ncapture\n")
    controlled.expect_line("error pause: waiting to begin")
    controlled.expect_line("error capture: waiting to begin")
    controlled.expect_line("started")
    now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    select.select([], [], [], 0.3)
    profile = finish(controlled)
    expect(profile.meta["startTimeAsClockMonotonicNanosecondsSinceBoot"] <= now_ns, "it was told too early")


def test_all_at_once(test):
    """Commands that come together are answered in order; a capture that is asked for with the end is written."""
    _, controlled = record_hot(test)
    controlled.send("pause\ncapture\nresume\nstop\npause\n")
    for line in ("ok pause", "ok capture", "ok resume", "ok stop", "stopped"):
        controlled.expect_line(line)
    path = controlled.recording.path
    controlled.expect_line(f"captured {path.replace('.json', '-1.json')}")
    controlled.expect_line(f"saved {path}")
    controlled.recording.finish()


def test_other_endings_are_told(test):
    """The script need not be who ends it."""
    controlled = Controlled(test, "--", test.target("hot"), "0.3")
    controlled.expect_line("started")
    controlled.expect_line("stopped")
    controlled.expect_line(f"saved {controlled.recording.path}")
    controlled.recording.finish()


def test_two_pipes(test):
    target = test.start_target("hot")
    commands, our_commands = os.pipe()
    our_answers, answers = os.pipe()
    recording = test.record("--pid", target.pid, "--control", f"{commands},{answers}", pass_fds=(commands, answers))
    os.close(commands)
    os.close(answers)
    with os.fdopen(our_answers) as lines, os.fdopen(our_commands, "w") as to:
        expect_equal(lines.readline(), "started\n", "the first line")
        to.write("stop\n")
        to.flush()
        expect_equal(lines.read(), f"ok stop\nstopped\nsaved {recording.path}\n", "the rest")
    recording.finish()


def test_hostile_input(test):
    target, controlled = record_hot(test)
    controlled.send(b"x" * 100000 + b"\nst\0p\n\0\0\0\nSTOP\nstop \n")
    controlled.expect_line("error: the line is too long")
    for _ in range(4):
        controlled.expect_line(NO_COMMAND)
    finish(controlled).main_thread(target.pid)


def test_closed_peer(test):
    """The recording goes on, and does not spin."""
    target, controlled = record_hot(test)
    controlled.send("capture\n" * 3)
    controlled.ours.close()
    recording = controlled.recording
    recording.wait_for("wrote .*-1.json", stream="stderr")
    before = cpu_s(recording.pid)
    select.select([], [], [], 1)
    expect(cpu_s(recording.pid) - before < 0.5, "it spins")
    expect(recording.stop().main_thread(target.pid).samples(), "the profile is empty")


def test_peer_that_does_not_read(test):
    """Its commands stay in its own socket once enough answers wait for it, and a signal still ends the recording."""
    target, controlled = record_hot(test)
    controlled.ours.setblocking(False)
    end = time.monotonic() + 2
    while time.monotonic() < end:
        try:
            controlled.ours.send(b"what?\n" * 1000)
        except BlockingIOError:
            select.select([], [controlled.ours], [], 0.1)
    before = cpu_s(controlled.recording.pid)
    select.select([], [], [], 1)
    expect(cpu_s(controlled.recording.pid) - before < 0.5, "it spins")
    expect(controlled.recording.stop().main_thread(target.pid).samples(), "the profile is empty")


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_end_of_commands(test):
    """Who only closes its writing end is told what happens, as before."""
    _, controlled = record_hot(test, "--duration", 0.5)
    controlled.ours.shutdown(socket.SHUT_WR)
    controlled.expect_line("stopped")
    controlled.expect_line(f"saved {controlled.recording.path}")
    controlled.recording.finish()


def test_not_a_descriptor(test):
    for value in ("99", "x", "1,99", "-1", ""):
        recording = test.record("--all", f"--control={value}")
        expect_equal(recording.wait(), 2, "the exit status")
        expect_match(r"--control=.*: not an open descriptor; give", recording.stderr, "the message")
