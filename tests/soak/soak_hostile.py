#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""soak_hostile.py - every program of tests/ that wants the recorder to fail, all of them at once and for minutes, beside a
program and compilers that do not.

    make soak-hostile                           ten minutes
    make soak-hostile SOAK='--minutes 1'

The whole machine is recorded into a buffer that overwrites. Ten times a second the memory of the recorder and its readers is
looked at, now and then it is asked for a capture. What must hold is in check(); the exit status is 1 if anything does not.
"""

import collections
import os
import re
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True
REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(REPOSITORY, "tests", "e2e"), os.path.join(REPOSITORY, "tests", "bench")]

import harness  # noqa: E402
import hostile_elf  # noqa: E402
import hostile_frames  # noqa: E402
import soak  # noqa: E402
from harness import PYTHON, Profile, expect, expect_near  # noqa: E402
from test_attacks import ATTACKS, NOBODY  # noqa: E402
from test_buffer import check_range  # noqa: E402
from test_forgetting import BREED  # noqa: E402
from test_hanging import Hanging  # noqa: E402
from test_mappings import make_files  # noqa: E402

BUFFER_MIB = 64
MOST_MB = 256  # besides the buffer
SAVING_S = 60
LOOK_EVERY_S = 0.1
CAPTURE_EVERY_S = 120
FOREVER = 10**15
RATE = 10000  # of each program that maps
LOST = re.compile("_lost|left_out_at_end|records_bad|not_followed")
# A program can map more than any ring holds; it is told, and no sample is lost by it.
ALLOWED = {"mappings_lost_ring_full"}


# ---- who attacks -----------------------------------------------------------------------------------------------------
def again(seconds, *command):
    """The command, killed and started again and again."""
    return ["sh", "-c", f'while :; do timeout -s KILL {seconds} "$@" >/dev/null 2>&1; done', "sh", *command]


def those_that_map(test):
    target, files = test.target("remapper"), make_files(test)
    yield from ([target, kind, FOREVER, RATE] for kind in ("anew", "file", "turns", "same"))
    yield again(20, target, "many", "60000", RATE)
    yield again(10, target, "files", "5000", RATE, files)


def those_that_come_and_go(test):
    yield [test.target("storm"), "1000"]
    yield [test.target("storm"), "100", "0", shutil.which("true")]
    yield again(20, test.target("churn"))
    yield [PYTHON, "-c", BREED, shutil.which("true"), test.make_directory("programs")]


def those_with_files(test):
    symbols = hostile_elf.make_all(test.make_directory("symbols"))
    yield again(60, PYTHON, "-c", hostile_elf.RUNNER, *(word for path, at in symbols for word in (path, at)))
    frames = hostile_frames.make_all(test.make_directory("frames"), NOBODY)
    yield again(30, PYTHON, "-c", hostile_frames.MAPPER, *frames)
    odd = shutil.copy(test.target("hot"), os.path.join(test.make_directory("odd"), "-\x1b[2J\r\n\x9b"))
    yield again(5, odd, "\x1b]0;arguments\x07")


def those_that_swap(test):
    fifo = os.path.join(test.directory, "fifo")
    os.mkfifo(fifo)
    for path in (fifo, test.write_file("secret", "secret"), "/dev/zero"):
        directory = test.make_directory("swapped")
        os.chown(directory, NOBODY, NOBODY)
        yield [test.target("swapper"), directory, path, NOBODY]


def those_that_hang(test):
    for flag in ("open", "read"):
        hanging = Hanging(test)
        yield [hanging.program]
        # Who waits for a page that a reader waits for cannot be killed, either.
        if flag == "open":
            yield again(5, hanging.program)
        hanging.hang(flag)


def start_all(test):
    """Behind all others, which they would keep from running. Returns them."""
    commands = [[test.target(name), *arguments] for name, *arguments in ATTACKS]
    for those in (those_that_map, those_that_come_and_go, those_with_files, those_that_swap, those_that_hang):
        commands += those(test)
    null = os.open(os.devnull, os.O_WRONLY)
    return [test.start(["nice", "-n", "19", *command], stdout=null) for command in commands]


# ---- what is seen ----------------------------------------------------------------------------------------------------
def memory_mb(pid):
    """What is resident, of a recorder and its readers, in MB; and of that what is no file."""
    found = collections.Counter()
    for each in [pid, *filter(harness.is_reader, harness.children(pid))]:
        try:
            with open(f"/proc/{each}/status", encoding="utf-8", errors="replace") as file:
                found.update({name: int(kb) / 1e3 for name, kb in re.findall(r"(VmRSS|RssAnon):\s+(\d+) kB", file.read())})
        except OSError:
            pass  # it was replaced
    return found


class Watch:
    def __init__(self, recording, others):
        self.recording, self.others, self.captures = recording, others, 0
        self.most = {"recording": collections.Counter(), "saving": collections.Counter()}

    def look(self, phase):
        for name, mb in memory_mb(self.recording.pid).items():
            self.most[phase][name] = max(self.most[phase][name], mb)

    def run(self, seconds):
        begin = asked = time.monotonic()
        while time.monotonic() < begin + seconds:
            self.recording.read(LOOK_EVERY_S)
            expect(self.recording.popen.poll() is None, "the recording ended by itself")
            self.look("recording")
            now = time.monotonic()
            if now > asked + CAPTURE_EVERY_S and now < begin + seconds - soak.LAST_BEFORE_END_S:
                asked = now
                self.captures += 1
                self.recording.signal(signal.SIGUSR2)
        for process in self.others:
            expect(process.popen.poll() is None, f"{process.arguments} ended: {process.story()}")

    def stop(self):
        """Seconds from the signal to the end."""
        begin = time.monotonic()
        self.recording.signal(signal.SIGINT)
        while self.recording.popen.poll() is None and time.monotonic() < begin + 5 * SAVING_S:
            self.recording.read(LOOK_EVERY_S)
            self.look("saving")
        return time.monotonic() - begin


# ---- what must hold --------------------------------------------------------------------------------------------------
def check_memory(watch):
    for phase, most in watch.most.items():
        limit = MOST_MB + BUFFER_MIB * 1.048576
        expect(most["VmRSS"] < limit, f"{phase} took {most['VmRSS']:.0f} MB, more than {limit:.0f}")


def check_saving(seconds):
    expect(seconds < SAVING_S, f"from stop to file it took {seconds:.1f} s")


def check_losses(profile):
    lost = {name: value for name, value in profile.log().items()
            if LOST.search(name) and isinstance(value, int) and value and name not in ALLOWED}
    expect(not lost, f"something was lost: {lost}")


def check_other(profile, pid):
    """A program that does nothing special: its samples are as many as its CPU time says, whole and named, to the last."""
    thread = profile.main_thread(pid)
    check_range(profile, [pid])
    used_ms, period_ms = thread.cpu_ns() / 1e6, profile.log()["period_ns"] / 1e6
    samples_ms = len(thread.samples()) * period_ms
    expect_near(samples_ms, used_ms, 0.03 * used_ms + 10, "ms of samples of the other program")
    expect(thread.total_share("main") > 0.98, f"its stacks are cut: {thread.self_samples().most_common(5)}")


def check_terminal(recording):
    expect(not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", recording.stderr), f"it commands the terminal: {recording.stderr!r}")


def check_capture(watch, number, pid):
    path = watch.recording.path.replace(".json", f"-{number}.json")
    expect(os.path.exists(path), f"there is no capture {path}")
    check_range(Profile(path), [pid])


def soak_hostile(test, minutes):
    test.need("clang++", "gcc")
    other = test.start_target("hot")
    compilers = soak.start_compilers(test)
    attackers = start_all(test)
    recording = test.record_running("--all", "--ring", "--buffer-size", BUFFER_MIB)
    watch = Watch(recording, [other, compilers, *attackers])
    watch.run(minutes * 60)
    saving_s = watch.stop()
    profile = recording.finish()
    for process in [compilers, *attackers]:
        for pid in [*harness.descendants(process.pid), process.pid]:
            harness.kill(pid, signal.SIGKILL)
    print(recording.stderr)
    print(f"{profile.log()}\n")
    for phase, most in watch.most.items():
        print(f"{phase}: {most['VmRSS']:.0f} MB at most, {most['RssAnon']:.0f} of them its own")
    print(f"from stop to file: {saving_s:.1f} s; the profile has {profile.duration_ms / 1e3:.1f} s; {watch.captures} captures")
    return list(soak.failures([(check_memory, watch), (check_saving, saving_s), (check_losses, profile),
                               (check_other, profile, other.pid), (check_terminal, recording), (test.client, profile),
                               *((check_capture, watch, number + 1, other.pid) for number in range(watch.captures))]))


if __name__ == "__main__":
    soak.run("soak-hostile", "All attacks at once, for minutes.", soak_hostile)
