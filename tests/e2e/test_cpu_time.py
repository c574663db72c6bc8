# SPDX-License-Identifier: BSD-2-Clause
"""CPU time of threads that ran before the recording began: what they had used by then is not in it."""

import os

from harness import expect, schedstat_ns

LOOP = ["sh", "-c", "while :; do :; done"]
# Clocks of the kernel that differ, and times that are rounded.
TOLERANCE_NS = 2000


def rows_of(profile):
    for thread in profile.threads:
        rows = thread.rows()
        yield from ((thread, before, row) for before, row in zip(rows, rows[1:]))


def expect_deltas_fit(profile):
    for thread, before, row in rows_of(profile):
        passed_ns = (row.time_ms - before.time_ms) * 1e6
        expect((row.cpu_ns or 0) <= passed_ns + TOLERANCE_NS,
               f"{thread} used {row.cpu_ns} ns in {passed_ns:.0f} ns, up to {row.time_ms} ms")


def test_no_thread_uses_more_than_the_time_that_goes_by(test):
    """All are listed, and what runs then goes on running until the first sample."""
    for _ in range(2 * os.cpu_count()):
        test.start(LOOP)
    profile = test.record("--all", "--duration", 1).finish(patience_s=60)
    expect_deltas_fit(profile)


def test_attached_to_a_running_process(test):
    loop = test.start(LOOP)
    before_ns = schedstat_ns(loop.pid)
    profile = test.record("--pid", loop.pid, "--duration", 1).finish()
    used_ns = schedstat_ns(loop.pid) - before_ns
    expect_deltas_fit(profile)
    counted_ns = profile.main_thread(loop.pid).cpu_ns()
    expect(counted_ns <= used_ns, f"the profile counts {counted_ns} ns, the kernel {used_ns} ns in a longer time")
