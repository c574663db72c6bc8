#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""soak.py - the flight recorder for minutes, on a machine that is as busy as can be: 10 kHz into a buffer of 8 MiB.

    make soak                           ten minutes
    make soak SOAK='--minutes 60'

What runs: processes of many stacks that stay (crowd), a storm of forks (storm), redis under load, compilers one after the
other. Each second the recorder's memory, descriptors and CPU time are looked at, and every two minutes it is asked for a
capture. What must hold is in check(); the exit status is 1 if anything does not. tests/e2e/test_buffer.py is the short run.
"""

import argparse
import os
import re
import signal
import statistics
import sys
import time

sys.dont_write_bytecode = True
REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(REPOSITORY, "tests", "e2e"), os.path.join(REPOSITORY, "tests", "bench")]

import harness  # noqa: E402
from harness import Profile, expect  # noqa: E402
from test_buffer import CONSTANT_MB, check_range, crowd_pids, memory_mb, start_crowd  # noqa: E402
from test_unwind import C_FLAGS, build_source  # noqa: E402
from workloads import BUSY_LOAD, write_heavy_source  # noqa: E402

RATE_HZ = 10000
BUFFER_MIB = 8
STAYING = 3
# None is asked for at the very end: it would be under way when the recording is stopped.
FIRST_CAPTURE_S, CAPTURE_EVERY_S, LAST_BEFORE_END_S = 30, 120, 20
SAVING_S = 120
# What comes and goes with captures and large libraries.
NOISE_MB, NOISE_DESCRIPTORS = 2, 8


# ---- what runs -------------------------------------------------------------------------------------------------------
def start_redis(test):
    path = os.path.join(test.directory, "redis.socket")
    server = test.start(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no"])
    server.wait_for("(?i)ready to accept connections|The server is now ready")
    return server, test.start(["redis-benchmark", "-s", path, "-q", "-l", "-n", "100000", *BUSY_LOAD],
                              stdout=os.open(os.devnull, os.O_WRONLY))


def start_compilers(test):
    source = os.path.join(test.directory, "heavy.cc")
    write_heavy_source(source)
    return test.start(["sh", "-c", f"while :; do clang++ -O2 -c {source} -o /dev/null; done"])


class Load:
    """staying: pids of processes that are busy all the time."""

    def __init__(self, test):
        test.need("redis-server", "redis-benchmark", "clang++", "gcc")
        storm = test.start_target(build_source(test, "storm.c", "storm", "gcc", *C_FLAGS))
        crowd = start_crowd(test, 0, STAYING)
        server, client = start_redis(test)
        self.processes = [storm, crowd, server, client, start_compilers(test)]
        self.staying = [*crowd_pids(crowd, "late"), server.pid]
        self.pids = [*self.staying, storm.pid, client.pid, self.processes[-1].pid]

    def check(self):
        for process in self.processes:
            expect(process.popen.poll() is None, f"{process.arguments[0]} ended: {process.story()}")


# ---- what is seen ----------------------------------------------------------------------------------------------------
def cpu_ns(pid):
    """Of all threads that there are."""
    return sum(harness.schedstat_ns(pid, tid) for tid in os.listdir(f"/proc/{pid}/task"))


class Watch:
    """One number a second of each of: anonymous memory and all memory (MB), descriptors, CPU (% of one)."""

    def __init__(self, recording):
        self.recording, self.captures = recording, 0
        self.seen = {"RssAnon, MB": [], "VmRSS, MB": [], "descriptors": [], "CPU, %": []}
        self.cpu_ns, self.at = cpu_ns(recording.pid), time.monotonic()

    def look(self):
        pid, used_ns, now = self.recording.pid, cpu_ns(self.recording.pid), time.monotonic()
        row = (memory_mb(pid, "RssAnon"), memory_mb(pid, "VmRSS"), len(os.listdir(f"/proc/{pid}/fd")),
               (used_ns - self.cpu_ns) / 1e7 / (now - self.at))
        for numbers, number in zip(self.seen.values(), row):
            numbers.append(number)
        self.cpu_ns, self.at = used_ns, now

    def run(self, load, seconds):
        begin = time.monotonic()
        for second in range(1, round(seconds) + 1):
            while (left := begin + second - time.monotonic()) > 0:
                self.recording.read(left)
            expect(self.recording.popen.poll() is None, "the recording ended by itself")
            load.check()
            self.look()
            if second % CAPTURE_EVERY_S == FIRST_CAPTURE_S and seconds - second >= LAST_BEFORE_END_S:
                self.captures += 1
                self.recording.signal(signal.SIGUSR2)

    def quarters(self, name):
        numbers = self.seen[name]
        return [numbers[len(numbers) * n // 4:len(numbers) * (n + 1) // 4] for n in range(4)]

    def print(self):
        print(f"{'':<14}" + "".join(f"{text:>12}" for text in ("1st quarter", "2nd", "3rd", "4th", "most")))
        for name, numbers in self.seen.items():
            cells = [*map(statistics.median, self.quarters(name)), max(numbers)]
            print(f"{name:<14}" + "".join(f"{cell:>12.1f}" for cell in cells))


# ---- what must hold --------------------------------------------------------------------------------------------------
def check_memory(watch):
    most, limit = max(watch.seen["RssAnon, MB"]), BUFFER_MIB * 1.048576 + CONSTANT_MB
    expect(most < limit, f"geckobpf took {most:.1f} MB, more than {limit:.1f}")


def check_flat(watch):
    for name, noise in (("RssAnon, MB", NOISE_MB), ("descriptors", NOISE_DESCRIPTORS)):
        third, fourth = (statistics.median(numbers) for numbers in watch.quarters(name)[2:])
        expect(fourth <= third + noise, f"{name}: {third:.1f} in the third quarter, {fourth:.1f} in the last")


def check_profile(profile, load):
    """The same for the last one and for captures."""
    log = profile.log()
    lost = sum(log[name] for name in log if re.match("samples_lost", name))
    expect(not lost, f"{lost} of {log['samples_captured']} samples were lost: this machine cannot keep up")
    profile.expect_nothing_lost()
    check_range(profile, load.staying)


def check_summary(recording, log):
    said = re.findall(r"the buffer held the last [\d.]+ s; (\d+) older samples were overwritten", recording.stderr)
    expect(log["samples_overwritten"] > 0, "nothing was overwritten")
    expect(said, f"the summary does not tell what was overwritten: {recording.stderr}")
    # Captures have said so before.
    expect(int(said[-1]) == log["samples_overwritten"], f"the summary tells {said[-1]} overwritten samples")


def check_captures(watch, load):
    for number in range(1, watch.captures + 1):
        path = watch.recording.path.replace(".json", f"-{number}.json")
        expect(os.path.exists(path), f"there is no capture {path}")
        check_profile(Profile(path), load)


def failures(checks):
    """All of them, not only the first."""
    for check, *arguments in checks:
        try:
            check(*arguments)
        except harness.Failure as failure:
            yield str(failure)


def check(test, watch, profile, load):
    log = profile.log()
    watch.print()
    print(f"\n{log['samples_recorded']} samples, {log['samples_overwritten']} of them overwritten; the profile has "
          f"{profile.duration_ms / 1e3:.1f} s; compression took {log['buffer_compression_cpu_ns'] / 1e9:.2f} s; "
          f"{watch.captures} captures; limit for RssAnon: {BUFFER_MIB * 1.048576 + CONSTANT_MB:.1f} MB")
    return list(failures([(check_memory, watch), (check_flat, watch), (check_profile, profile, load),
                          (check_summary, watch.recording, log), (check_captures, watch, load),
                          (test.client, profile)]))


def soak(test, minutes):
    load = Load(test)
    recording = test.record_running("--pid", ",".join(map(str, load.pids)), "--rate", RATE_HZ, "--ring",
                                    "--buffer-size", BUFFER_MIB)
    watch = Watch(recording)
    watch.run(load, minutes * 60)
    recording.signal(signal.SIGINT)
    begin = time.monotonic()
    profile = recording.finish(patience_s=SAVING_S)
    print(f"saved in {time.monotonic() - begin:.1f} s, the load still there\n")
    return check(test, watch, profile, load)


def run(name, description, function):
    """The program NAME: `function`, of a test and minutes, returns what is wrong."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", default="build", help="where make put the programs")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--keep", action="store_true", help="keep the profiles")
    arguments = parser.parse_args()
    if os.geteuid():
        sys.exit(f"{name}: must be root: BPF programs are loaded")
    harness.adopt_orphans()
    test = harness.Test(name, os.path.abspath(arguments.build), arguments.keep)
    try:
        failed = function(test, arguments.minutes)
    except harness.Failure as failure:
        failed = [str(failure), test.story()]
    finally:
        test.close()
    print("".join(f"not ok: {text}\n" for text in failed) or "ok")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    run("soak", "The flight recorder for minutes on a busy machine.", soak)
