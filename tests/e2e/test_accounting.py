# SPDX-License-Identifier: BSD-2-Clause
"""The samples that were taken and the ticks that are told as missed are the CPU time that was used, whatever else runs."""

from harness import expect, expect_near

RECORDINGS = 100
RATE_HZ = 3989
SECONDS = 0.4
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


def test_samples_and_missed_ticks(test):
    start_load(test)
    targets = [test.start_target("hot") for _ in range(2)]
    path = test.make_directory("out")
    for number in range(RECORDINGS):
        profile = test.record("--pid", ",".join(str(target.pid) for target in targets), "--rate", RATE_HZ, "--duration", SECONDS,
                              "--force", directory=path).finish()
        log = profile.log()
        cpu_ms = sum(thread.cpu_ns() for thread in profile.threads) / 1e6
        expect(cpu_ms > 20, f"the targets had a CPU for {cpu_ms} ms only")
        period_ms = log["period_ns"] / 1e6
        expect_near((log["timer_ticks"] + log["timer_ticks_missed"]) * period_ms, cpu_ms,
                    0.03 * cpu_ms + len(targets) * SCHEDULER_TICK_MS,
                    f"recording {number}: ms of samples, and {log['timer_ticks_missed']} missed ticks,")
