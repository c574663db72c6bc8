# SPDX-License-Identifier: BSD-2-Clause
"""--stream: a raw capture that is written while the recording goes on, and outlives whatever ends it."""

import os
import random
import re
import select
import signal
import time

from harness import Profile, alone, expect, expect_equal, expect_match, kill, stolen_ns, wait_until
from test_raw import run

BESIDE_OTHERS = True

KILLS, AT_ONCE = 100, 10
WRITE_S = 0.5  # one is due as often
# What is promised. A write is up to a tenth late, and samples wait a tenth in their rings: so a
# recorder that does not get a CPU for three tenths still keeps the promise.
LOST_MS = 1000
# Of CPU time, what a thread uses at most before its first and after its last look at the clock.
EDGES_MS = 8


def sleep_s(seconds):
    select.select([], [], [], seconds)


def convert(test, path, *options):
    """Returns (profile, what it said)."""
    profile = os.path.join(test.make_directory("converted"), "profile.json")
    status, _, stderr = run(test, "convert", path, "-o", profile, *options)
    expect_equal(status, 0, f"the exit status of convert: {stderr}")
    return Profile(profile), stderr


def rows(profile):
    """{thread: [(time, frames, CPU time)]}, threads without samples left out."""
    found = {}
    for thread in profile.threads:
        if thread.samples():
            found[(thread.pid, thread.tid, thread.name, thread.process_name)] = [
                (row.time_ms, thread.frames(row.stack), row.cpu_ns) for row in thread.rows()]
    return found


def check_same(streamed, written):
    expect_equal(streamed.meta["startTimeAsClockMonotonicNanosecondsSinceBoot"],
                 written.meta["startTimeAsClockMonotonicNanosecondsSinceBoot"], "the beginning")
    expect_equal(streamed.meta["profilingEndTime"], written.meta["profilingEndTime"], "the end")
    ours, theirs = rows(streamed), rows(written)
    expect_equal(sorted(ours), sorted(theirs), "the threads")
    for thread, expected in theirs.items():
        different = [pair for pair in zip(ours[thread], expected) if pair[0] != pair[1]]
        expect(ours[thread] == expected, f"the samples of {thread} differ from those that --output wrote: "
               f"{len(ours[thread])} and {len(expected)} rows, {len(different)} of them differ, first {different[:1]}")


# ---- to the end ------------------------------------------------------------------------------------------------------
@alone
def test_same_as_output(test):
    """What --output writes at the end is what the stream has."""
    script = f'for i in 1 2 3; do {test.target("hot")} 0.4 >/dev/null; done; exec {test.target("threads")} 1'
    stream = os.path.join(test.make_directory("stream"), "s.gbpf")
    recording = test.record("--stream", stream, "--", "sh", "-c", script, output="profile.json.gz")
    written = recording.finish()
    expect_match(rf"wrote {stream} .*a raw capture of \d+ samples, 0 lost", recording.stderr, "the summary")
    streamed, said = convert(test, stream)
    expect("warning" not in said, f"convert warns: {said}")
    check_same(streamed, written)
    expect(sum(map(len, rows(streamed).values())) > 1000, "too few samples")
    streamed.expect_nothing_lost()
    expect_equal(streamed.log()["samples_recorded"], written.log()["samples_recorded"], "samples_recorded")
    expect_equal(os.listdir(os.path.dirname(stream)), ["s.gbpf"], "the directory")
    test.client(streamed)


@alone
def test_programs_of_the_recorder(test):
    """The kernel runs them inside what it samples, and they are gone when the stream is read."""
    stream = os.path.join(test.make_directory("stream"), "s.gbpf")
    script = "i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i + 1)); done"
    recording = test.record("--stream", stream, "--rate", 9000, "--", "sh", "-c", script, output=None)
    expect_equal(recording.wait(), 0, "the exit status")
    streamed, _ = convert(test, stream)
    found = set()
    for frames in (frames for thread in rows(streamed).values() for _, frames, _ in thread):
        names = [name.split(" ")[0] for name, _ in frames]
        found |= {(point, program) for point, runner, program in zip(names, names[1:], names[2:])
                  if re.match(r"__traceiter_sched_process_(fork|exec|exit)", point) and "bpf_trace_run" in runner}
    programs = [pair for pair in found if re.match(r"bpf_prog_|\[unknown\]", pair[1])]
    expect(programs, f"no program is on a stack: {found}")
    for point, program in programs:
        expect_match(rf"bpf_prog_[0-9a-f]{{16}}_on_{point.rpartition('_')[2]}$", program, f"what {point} runs")


def test_is_the_output(test):
    """Without --output nothing else is written; what was there under the name is kept under others."""
    directory = test.make_directory("out")
    stream = os.path.join(directory, "s.gbpf")
    for name, text in (("s.gbpf", "old"), ("s-1.gbpf", "older")):
        with open(os.path.join(directory, name), "w", encoding="ascii") as file:
            file.write(text)
    recording = test.record("--stream", stream, "--", test.target("hot"), 0.8, output=None, directory=directory)
    expect_equal(recording.wait(), 0, "the exit status")
    expect_equal(sorted(os.listdir(directory)), ["s-1.gbpf", "s-2.gbpf", "s.gbpf"], "the directory")
    for name, text in (("s-2.gbpf", "old"), ("s-1.gbpf", "older")):
        with open(os.path.join(directory, name), encoding="ascii") as file:
            expect_equal(file.read(), text, name)
    expect_match(rf"{stream}: there was one already; it is {directory}/s-2.gbpf now", recording.stderr, "what it says")
    expect_equal(os.stat(stream).st_mode & 0o777, 0o600, "who may read it")
    profile, said = convert(test, stream)
    expect_match(r"wrote .* samples of 1 thread\n$", said, "what convert says")
    expect(profile.thread(process_name="hot").total_share("main") > 0.95, "main is not on the stacks")


def test_one_file_twice(test):
    """However --stream and --output write it."""
    directory = test.make_directory("out")
    os.symlink(directory, os.path.join(test.directory, "link"))
    for other in ("s.gbpf", "./s.gbpf", f"{directory}/s.gbpf", "../link/s.gbpf"):
        process = test.start([test.geckobpf, "--stream", other, "-o", "s.gbpf", "--", "true"], cwd=directory)
        expect_equal(process.wait(), 2, "the exit status")
        while process.read(0.2):
            pass
        expect("two files" in process.stderr, f"the error: {process.stderr}")
    expect_equal(os.listdir(directory), [], "the directory")


def test_pause_and_capture(test):
    target, directory = test.start_target("hot"), test.make_directory("out")
    stream = os.path.join(directory, "s.gbpf")
    recording = test.record_running("--stream", stream, "--pid", target.pid, directory=directory)
    sleep_s(0.7)
    recording.signal(signal.SIGUSR2)
    recording.wait_for(r"wrote \S*profile-1.json .*\n", stream="stderr")
    recording.signal(signal.SIGUSR1)
    recording.wait_for("paused", stream="stderr")
    sleep_s(0.7)
    recording.signal(signal.SIGUSR1)
    recording.wait_for("goes on", stream="stderr")
    sleep_s(0.3)
    written = recording.stop()
    streamed, _ = convert(test, stream)
    check_same(streamed, written)
    expect_equal(streamed.raw["pausedRanges"], written.raw["pausedRanges"], "the pauses")
    expect_equal(len(streamed.raw["pausedRanges"]), 1, "the number of pauses")
    expect(Profile(os.path.join(directory, "profile-1.json")).main_thread(target.pid).samples(), "an empty capture")


# ---- killed ----------------------------------------------------------------------------------------------------------
def is_empty(test, path):
    return "holds no samples" in run(test, "report", path)[2]


class Victim:
    """A recording that is killed after some time."""

    def __init__(self, test, target, number):
        self.path = os.path.join(test.directory, f"killed{number}.gbpf")
        self.recording = test.record("--stream", self.path, "--pid", target.pid, output=None)
        self.killed_ns = None

    def start_clock(self, seconds):
        self.recording.wait_started()
        self.due = time.monotonic() + seconds
        self.started_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)

    def kill(self):
        sleep_s(max(0, self.due - time.monotonic()))
        expect_equal(self.recording.popen.poll(), None, "its exit status before it is killed")
        self.killed_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        kill(self.recording.pid, signal.SIGKILL)
        expect_equal(self.recording.wait(), -signal.SIGKILL, "the exit status")

    def check(self, test, target):
        """Returns the profile and how many ms are missing from it; no profile if no sample was written by then."""
        run_ms = (self.killed_ns - self.started_ns) / 1e6
        if run_ms < LOST_MS and is_empty(test, self.path):
            return None, run_ms
        profile, said = convert(test, self.path, "--symbols=addresses")
        expect("has no end: the recording was killed" in said, f"convert does not tell: {said}")
        end_ms = profile.time_ms(self.killed_ns)
        last_ms = max((row.time_ms for thread in profile.find(pid=target.pid) for row in thread.samples()), default=0)
        missing = re.search(r"what came after its first ([\d.]+) s is missing", said)
        expect(abs(float(missing.group(1)) * 1e3 - profile.meta["profilingEndTime"]) < 1, f"convert says: {said}")
        for what, there_ms in (("the profile ends", profile.meta["profilingEndTime"]), ("its last sample is", last_ms)):
            expect(end_ms - there_ms <= LOST_MS, f"{self.path}: {what} {end_ms - there_ms:.0f} ms before the kill")
        return profile, end_ms - last_ms


@alone
def test_killed(test):
    """SIGKILL at any moment, a hundred times: what is missing is the last second at most."""
    target = test.start_target("hot")
    missing, whole = [], None
    for first in range(0, KILLS, AT_ONCE):
        victims = [Victim(test, target, number) for number in range(first, min(first + AT_ONCE, KILLS))]
        for victim in victims:
            # Two of three are there for longer than what may be missing, and each moment between two writes comes up alike.
            victim.start_clock(random.uniform(0.3, 0.3 + 4 * WRITE_S))
        for victim in sorted(victims, key=lambda victim: victim.due):
            victim.kill()
            profile, missing_ms = victim.check(test, target)
            missing.append(missing_ms)
            whole = profile or whole
    test.client(whole)
    expect_equal(len(missing), KILLS, "the number of kills")
    print(f"# missing: {sorted(missing)[KILLS // 2]:.0f} ms in the median, {max(missing):.0f} ms at most")
    expect(target.popen.poll() is None, "the target died")


# ---- more than memory holds --------------------------------------------------------------------------------------------
def lives_of(target):
    """(tid, name, first and last look at the clock, CPU time) of each thread of churn."""
    return [(int(tid), name, int(start), int(end), int(cpu)) for tid, name, start, end, cpu
            in re.findall(r"^thread (\d+) (\S+) (\d+) (\d+) (\d+)$", target.stdout, re.M)]


def outside_of_life(profile, thread, start_ns, end_ns):
    """Samples of the thread before its first look at the clock, or after its last."""
    start_ms, end_ms = profile.time_ms(start_ns), profile.time_ms(end_ns)
    return [row.time_ms for row in thread.samples() if not start_ms < row.time_ms < end_ms]


@alone
def test_forgotten(test):
    """Threads that are forgotten while it records are in the stream, under their names, each with its own samples."""
    stream = os.path.join(test.make_directory("stream"), "s.gbpf")
    stolen_before_ns = stolen_ns()
    recording = test.record("--stream", stream, "--forget-after", 1, "--", test.target("churn"), 8, 250)
    written = recording.finish(patience_s=120)
    lives = lives_of(recording)
    expect(len(lives) >= 250, f"only {len(lives)} threads lived")
    streamed, said = convert(test, stream)
    expect("warning" not in said, f"convert warns: {said}")
    streamed.expect_nothing_lost()
    expect(len(written.threads) < 0.8 * len(lives), f"{len(written.threads)} of {len(lives)} threads were not forgotten")
    expect(written.log()["threads_forgotten"] > 0.2 * len(lives), "too few threads were forgotten")
    rough = []
    for tid, name, start_ns, end_ns, cpu_ns in lives:
        thread = streamed.thread(tid=tid)
        expect_equal(thread.name, name, f"the name of thread {tid}")
        # On a busy machine it may end long after its last look.
        outside = outside_of_life(streamed, thread, start_ns, end_ns)
        expect(len(outside) <= EDGES_MS, f"{name}, which ran from {start_ns} to {end_ns}, has samples at {outside}")
        if abs(thread.cpu_ns() - cpu_ns) >= EDGES_MS * 1e6:
            rough.append((name, cpu_ns, thread.cpu_ns()))
    # Of a few threads a hypervisor takes the CPU away just as they end: the kernel's account leaves that time out, ours does not.
    expect(len(rough) <= 0.05 * len(lives), f"the CPU times (name, used, told) of {len(rough)} threads: {rough[:5]}")
    used_ns = sum(life[4] for life in lives)
    told_ns = sum(thread.cpu_ns() for thread in streamed.threads if thread.tid in {life[0] for life in lives})
    expect(abs(told_ns - used_ns) < 0.03 * used_ns + stolen_ns() - stolen_before_ns,
           f"all threads used {used_ns} ns of CPU time, not {told_ns}")
    samples = sum(len(streamed.thread(tid=life[0]).samples()) for life in lives)
    expect_equal(sum(len(thread.samples()) for thread in streamed.threads), streamed.log()["samples_recorded"], "all samples")
    due = used_ns / 1e6 - streamed.log()["timer_ticks_missed"]
    expect(samples > 0.9 * due, f"{samples} samples of {due:.0f} ms")


@alone
def test_more_than_the_buffer(test):
    """What the buffer has overwritten is in the stream: everything, from the first moment on."""
    target = test.start([test.target("crowd"), 0, 4])
    target.wait_for(r"ready \d+\n")
    pids = [int(pid) for pid in re.findall(r"^late (\d+)$", target.stdout, re.M)]
    stream = os.path.join(test.make_directory("stream"), "s.gbpf")
    recording = test.record_running("--stream", stream, "--pid", ",".join(map(str, pids)), "--rate", 20000,
                                    "--buffer-size", 1, "--ring")
    # About two megabytes of samples; sections of the kernel's symbols come before them.
    before = os.path.getsize(stream)
    wait_until(lambda: os.path.getsize(stream) > before + (2 << 20), "more than the buffer holds", 120)
    written = recording.stop()
    streamed, said = convert(test, stream, "--symbols=addresses")
    expect("warning" not in said, f"convert warns: {said}")
    streamed.expect_nothing_lost()
    expect(written.log()["samples_overwritten"] > 1000, "the buffer overwrote nothing")
    expect_equal(streamed.log()["samples_overwritten"], 0, "samples overwritten before they were streamed")
    count = sum(len(thread.samples()) for thread in streamed.threads)
    expect_equal(count, streamed.log()["samples_recorded"], "the number of samples")
    expect(streamed.duration_ms > 1.5 * written.duration_ms, "the stream covers no more than the buffer")


# ---- bad days --------------------------------------------------------------------------------------------------------
def test_disk_full(test):
    """It is said at once; the file is good up to there; the recording goes on, and its profile is written."""
    target, small = test.start_target("threads"), test.make_directory("small")
    directory = test.make_directory("out")
    copy = os.path.join(directory, "copy.gbpf")
    recording = test.record(
        "--stream", os.path.join(small, "s.gbpf"), "--pid", target.pid, "--rate", "10000", "--user-only",
        directory=directory, output=None, prefix=[
            "unshare", "--mount", "--propagation", "private", "sh", "-c",
            f'mount -t tmpfs -o size=64k tmpfs {small} && "$0" "$@" & trap "kill -INT $!" INT; wait $!; wait $!; '
            f'status=$?; cp {small}/s.gbpf {copy}; exit $status'])
    recording.wait_started()
    recording.wait_for(rf"{small}/s\.gbpf: cannot write: No space left on device; it has the first [0-9.]+ s; "
                       r"recording goes on.*\n", 60, "stderr")
    sleep_s(0.5)
    recording.signal(signal.SIGINT)
    expect_equal(recording.wait(60), 1, "the exit status")
    saved = [name for name in os.listdir(directory) if name.endswith(".json.gz")]
    expect_equal(len(saved), 1, f"profiles in {os.listdir(directory)}")
    whole = Profile(os.path.join(directory, saved[0]))
    expect_match("ended early: no space left", whole.log()["fallback_stream"], "the profile's fact")
    part, told = convert(test, copy)
    expect("has no end" in told and "damaged" not in told, f"convert says: {told}")
    busy, of = part.thread(name="busy"), whole.thread(name="busy")
    expect(100 < len(busy.samples()) < len(of.samples()), "samples in the stream")
    expect_equal([row.time_ms for row in busy.samples()],
                 [row.time_ms for row in of.samples()][:len(busy.samples())], "the times of its samples")


def refuse(test, stream, *patterns, status=1):
    directory = test.make_directory("out")
    recording = test.record("--stream", stream, "--", "true", output=None, directory=directory)
    expect_equal(recording.wait(), status, "the exit status")
    for pattern in ("^geckobpf: ", *patterns):
        expect_match(pattern, recording.stderr, "the error")
    expect_equal(recording.stderr.count("\n"), 1, f"lines of error: {recording.stderr}")
    expect_equal(os.listdir(directory), [], "the directory")


def test_refused(test):
    refuse(test, "s.json.gz", r"s\.json\.gz", "give a .gbpf file", status=2)
    refuse(test, "-", "give a .gbpf file", status=2)
    refuse(test, "missing/s.gbpf", "missing/s.gbpf", "no such file or directory", "--stream")
    refuse(test, "a/b.json/s.gbpf", "no such file or directory", "--stream")
    refuse(test, "/proc/s.gbpf", "/proc/s.gbpf", "--stream")
