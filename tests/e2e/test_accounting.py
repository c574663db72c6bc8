# SPDX-License-Identifier: BSD-2-Clause
"""The samples that were taken and the ticks that are told as missed are the CPU time that was used, whatever else runs; and
every sample is in the file, or in exactly one counter."""

import json

from harness import Profile, expect, expect_equal, expect_near, read_profile_bytes

RECORDINGS, AT_ONCE = 100, 4
RATE_HZ = 3989
SECONDS = 0.4
TARGETS = 2
SCHEDULER_TICK_MS = 4  # so exact is the account of a thread that runs while it is read
LOOP = ["sh", "-c", "while :; do :; done"]


def start_load(test):
    """What computes, what is in the kernel, and what makes interrupts."""
    path = f"{test.make_directory('load')}/file"
    writer = ["sh", "-c", f"while dd if=/dev/zero of={path} bs=1M count=64 conv=fsync 2>/dev/null; do :; done"]
    for command in (LOOP, LOOP, writer):
        test.start(command)
    for _ in range(2):
        test.start_target("syscaller")


def check(profile, name):
    """Returns the CPU time of the targets, in ms."""
    log = profile.log()
    cpu_ms = sum(thread.cpu_ns() for thread in profile.threads) / 1e6
    period_ms = log["period_ns"] / 1e6
    expect_near((log["timer_ticks"] + log["timer_ticks_missed"]) * period_ms, cpu_ms, 0.03 * cpu_ms + TARGETS * SCHEDULER_TICK_MS,
                f"{name}: ms of samples, and {log['timer_ticks_missed']} missed ticks,")
    return cpu_ms


def test_samples_and_missed_ticks(test):
    """Several recorders are load for each other, too."""
    start_load(test)
    pids = ",".join(str(test.start_target("hot").pid) for _ in range(TARGETS))
    paths = [test.make_directory("out") for _ in range(AT_ONCE)]
    cpu_ms = 0
    for first in range(0, RECORDINGS, AT_ONCE):
        recordings = [test.record("--pid", pids, "--rate", RATE_HZ, "--duration", SECONDS, "--force", directory=path)
                      for path in paths]
        for number, recording in enumerate(recordings, first):
            cpu_ms += check(recording.finish(), f"recording {number}")
    expect(cpu_ms > 10 * RECORDINGS, f"the targets had a CPU for {cpu_ms} ms only")


# Where a sample of a recording can end but in the file.
LOST = ("samples_lost_ring_full", "samples_lost_buffer", "samples_left_out_at_end", "records_bad", "samples_overwritten",
        "samples_before_begin", "samples_without_stack", "samples_lost_damaged")
# Rate, MiB of buffer, seconds, options. A buffer of 1 MiB is full after some seconds of the highest rate.
SHAPES = (
    (99, 128, 1, ()),
    (3989, 1, 1, ("--user-only",)),
    (20000, 128, 1, ("--all-processes",)),
    (20000, 1, 4, ()),
    (20000, 2, 5, ("--ring",)),
)


def expect_each_counted(log, samples, what):
    expect_equal(log["timer_ticks"], samples + sum(log.get(name, 0) for name in LOST),
                 f"{what}: the ticks, beside {samples} samples and {[(name, log.get(name, 0)) for name in LOST]},")


def samples_of_processed(path):
    """The samples, and the log. A row that counts and has no stack was recorded so, or is the first."""
    raw = json.loads(read_profile_bytes(path))
    samples = 0
    for thread in raw["threads"]:
        table = thread["samples"]
        weights = table["weight"] or [1] * table["length"]
        samples += sum(weight for weight, stack in zip(weights, table["stack"]) if stack is not None)
    log = {}
    for value in raw["profilingLog"].values():
        log.update(value)
    return samples, log


def test_every_sample_is_counted(test):
    for _ in range(2):
        test.start_target("syscaller")
    test.start_target("hot")
    for rate, buffer_mib, seconds, options in SHAPES:
        what = f"--rate {rate} --buffer-size {buffer_mib} {' '.join(options)}"
        profile = test.record("--all", "--rate", rate, "--buffer-size", buffer_mib, "--duration", seconds, *options).finish()
        expect_each_counted(profile.log(), sum(len(thread.samples()) for thread in profile.threads), what)


def test_every_sample_of_a_raw_capture_is_counted(test):
    test.start_target("syscaller")
    test.start_target("hot")
    recording = test.record("--all", "--rate", 20000, "--buffer-size", 1, "--duration", 4, output="x.gbpf")
    expect_equal(recording.wait(), 0, "the exit status of record")
    for name, options in (("x.json", ()), ("y.json", ("--format=processed",))):
        path = f"{recording.directory}/{name}"
        convert = test.start([test.geckobpf, "convert", recording.path, "-o", path, *options])
        expect_equal(convert.wait(), 0, f"the exit status of {name}")
        if options:
            samples, log = samples_of_processed(path)
        else:
            profile = Profile(path)
            samples, log = sum(len(thread.samples()) for thread in profile.threads), profile.log()
        expect_each_counted(log, samples, name)
