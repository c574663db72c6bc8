# SPDX-License-Identifier: BSD-2-Clause
"""A recording that is larger than its buffer: what is kept, for whom, what is said of the rest, and the memory it
takes."""

import os
import re
import select
import signal
import time

from harness import expect, expect_equal, kill, wait_until
from test_captures import capture, sample_times

RATE_HZ = 20000
BUFFER_MIB = 1
# What geckobpf takes besides its --buffer-size, its rings and the files it maps: the caches of the encoder, tables of processes
# and symbols; and for a moment what the making of unwind tables takes. Some 4 MB in these tests, 10 to 15 MB in tests/soak, and
# 20 to 30 MB more when a compiler's libraries are new; architecture.md states it.
CONSTANT_MB = 48


def memory_mb(pid, what):
    """VmRSS, VmHWM, RssAnon, ... of a process."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(rf"{what}:\s+(\d+) kB", file.read()).group(1)) / 1e3


def process_cpu_s(pid):
    """User and system time, to a tick."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def sleep_s(seconds):
    select.select([], [], [], seconds)


class Memory:
    """Looks at a process's memory now and then."""

    def __init__(self, pid):
        self.pid, self.anonymous = pid, []

    def watch(self, pids, cpu_s):
        """Until these processes have used so much CPU time: a sample is taken for each 0.05 ms of it."""
        end, start_s = time.monotonic() + 300, sum(map(process_cpu_s, pids))
        while sum(map(process_cpu_s, pids)) < start_s + cpu_s:
            expect(time.monotonic() < end, f"the processes do not come to {cpu_s} s of CPU time")
            sleep_s(0.1)
            self.anonymous.append(memory_mb(self.pid, "RssAnon"))

    def check(self):
        limit = BUFFER_MIB * 1.048576 + CONSTANT_MB
        expect(max(self.anonymous) < limit, f"geckobpf took {max(self.anonymous)} MB, more than {limit}")
        third = len(self.anonymous) // 3
        before, after = max(self.anonymous[third:2 * third]), max(self.anonymous[2 * third:])
        expect(after < before + 4, f"its memory grew from {before} MB to {after} MB in the last third")


def range_ns(profile):
    """From when to when, since boot."""
    start_ns = profile.meta["startTimeAsClockMonotonicNanosecondsSinceBoot"]
    return start_ns, start_ns + round(profile.meta["profilingEndTime"] * 1e6)


def crowd_pids(target, kind):
    return [int(pid) for pid in re.findall(rf"^{kind} (\d+)$", target.stdout, re.M)]


def start_crowd(test, *arguments):
    target = test.start([test.target("crowd"), *arguments])
    target.wait_for(r"ready \d+\n")
    return target


def signal_all(pids, number):
    for pid in pids:
        kill(pid, number)


def check_range(profile, pids):
    """Each of the processes is in the profile from its first to its last moment, give or take the turns they take."""
    for pid in pids:
        times = [row.time_ms for row in profile.main_thread(pid).samples()]
        expect(len(times) > 100, f"process {pid} has only {len(times)} samples")
        turn_ms = max(after - before for before, after in zip(times, times[1:]))
        patience_ms = min(100 + 2 * turn_ms, profile.duration_ms / 2)
        expect(times[0] < patience_ms, f"the samples of process {pid} begin {times[0]:.0f} ms after the profile does, "
               f"which is longer than the turns that it had ({turn_ms:.0f} ms)")
        expect(times[-1] > profile.duration_ms - patience_ms,
               f"the samples of process {pid} end {profile.duration_ms - times[-1]:.0f} ms before the profile does, "
               f"which is longer than the turns that it had ({turn_ms:.0f} ms)")


def test_overwrites(test):
    """Longer than the buffer: the latest is kept, for all alike, in bounded memory."""
    target = start_crowd(test, 0, 4)
    late = crowd_pids(target, "late")
    recording = test.record_running("--pid", ",".join(map(str, late)), "--rate", RATE_HZ, "--buffer-size", BUFFER_MIB,
                                    "--strict")
    memory = Memory(recording.pid)
    memory.watch(late, 13)
    recording.signal(signal.SIGINT)
    profile = recording.finish(status=1)
    expect("--strict: samples or events were lost" in recording.stderr, f"what --strict says: {recording.stderr}")
    memory.check()
    log = profile.log()
    expect(log["samples_overwritten"] > 1000, f"only {log['samples_overwritten']} samples were overwritten")
    expect(log["buffer_bytes"] <= BUFFER_MIB << 20, f"the buffer had {log['buffer_bytes']} bytes")
    said = re.search(r"the profile has the last ([\d.]+) s; (\d+) older samples were overwritten; give a larger "
                     r"--buffer-size", recording.stderr)
    expect(said, f"the summary does not tell what was overwritten: {recording.stderr}")
    expect_equal(int(said.group(2)), log["samples_overwritten"], "samples overwritten, in the summary")
    expect(abs(float(said.group(1)) * 1e3 - profile.duration_ms) < 100, "the summary tells another duration")
    by_pid = {int(pid): facts["samples_overwritten"] for process in profile.raw["processes"]
              for pid, facts in process.get("profilingLog", {}).items()}
    expect_equal(sum(by_pid.values()), log["samples_overwritten"], f"samples overwritten of all processes, {by_pid}")
    expect_equal(sorted(by_pid), sorted(late), "the processes of which samples were overwritten")
    by_process = [int(pid) for pid in re.findall(r"\d+ of them of \S+ \(pid (\d+)\)", recording.stderr)]
    expect(by_process and set(by_process) <= set(late), f"overwritten by process: {by_process}")
    check_range(profile, late)
    profile.expect_nothing_lost()
    test.client(profile)


def test_crowd(test):
    """200 processes, 190 of which exit early: they expire, the others have the same time range."""
    recording = test.record_running("--rate", RATE_HZ, "--buffer-size", BUFFER_MIB, "--ring", "--",
                                    test.target("crowd"), 190, 10, 120)
    recording.wait_for(r"\bcrowd\n", 60)
    memory = Memory(recording.pid)
    memory.watch(crowd_pids(recording, "late"), 15)
    recording.signal(signal.SIGINT)
    profile = recording.finish(status=128 + signal.SIGINT)
    memory.check()
    early, late = crowd_pids(recording, "early"), crowd_pids(recording, "late")
    expect_equal((len(early), len(late)), (190, 10), "the crowd")
    here = {int(thread.pid.split(".")[0]) for thread in profile.threads}
    expect(not here & set(early), f"{len(here & set(early))} processes are in the profile that ended before it begins")
    check_range(profile, late)
    log = profile.log()
    expect(log["processes_forgotten"] >= 190, f"only {log['processes_forgotten']} processes were forgotten")
    expect(re.search(r"the buffer held the last [\d.]+ s", recording.stderr), f"the summary: {recording.stderr}")
    profile.expect_nothing_lost()
    test.client(profile)


def test_captures_of_a_ring(test):
    """Of two captures of a full ring, the second has what the first had in the time that both cover, and nothing else."""
    target = start_crowd(test, 0, 2)
    pids = crowd_pids(target, "late")
    recording = test.record_running("--pid", ",".join(map(str, pids)), "--rate", RATE_HZ, "--buffer-size", BUFFER_MIB, "--ring")
    memory = Memory(recording.pid)
    memory.watch(pids, 10)
    first = capture(recording, 1, when_begun=lambda: signal_all(pids, signal.SIGSTOP))
    signal_all(pids, signal.SIGCONT)
    # Until the half of what the ring holds is new, however long that takes.
    memory.watch(pids, sum(map(len, sample_times(first).values())) / RATE_HZ / 2)
    second = capture(recording, 2)
    recording.stop().expect_nothing_lost()
    start_ns, end_ns = range_ns(second)[0], range_ns(first)[1]
    expect(range_ns(first)[0] < start_ns < end_ns, f"ranges: {range_ns(first)}, {range_ns(second)}")
    before, after = sample_times(first), sample_times(second)
    for thread, times in before.items():
        common = [time_ns for time_ns in times if time_ns >= start_ns]
        again = [time_ns for time_ns in after[thread] if time_ns <= end_ns]
        expect(len(common) > 100, f"only {len(common)} samples of {thread} are in both")
        expect_equal(again, common, f"the times of the samples of {thread} that both captures cover")


def policies(pid):
    """{thread: how the kernel schedules it}; threads that have just ended are left out."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8", errors="replace") as file:
                found[int(tid)] = int(file.read().rpartition(")")[2].split()[38])
        except OSError:
            pass
    return found


def test_compression_is_idle(test):
    """Who compresses what is recorded takes only the CPU that nobody else wants; who records does not wait for it."""
    target = start_crowd(test, 0, os.cpu_count())
    recording = test.record_running("--pid", ",".join(map(str, crowd_pids(target, "late"))), "--rate", RATE_HZ,
                                    "--buffer-size", BUFFER_MIB, "--ring")
    idle = wait_until(lambda: [tid for tid, policy in policies(recording.pid).items() if policy == os.SCHED_IDLE],
                      "a thread of geckobpf that is idle by the kernel's rules", 120)
    expect(recording.pid not in idle, "the thread that records is idle")
    recording.stop().expect_nothing_lost()
