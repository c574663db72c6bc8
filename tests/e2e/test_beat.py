# SPDX-License-Identifier: BSD-2-Clause
"""Programs that a timer wakes at round times: samples do not fall in step with them."""

import math
import re

from harness import expect, expect_equal, expect_near, interval_ms

SECONDS = 10


def test_samples_are_in_step_with_no_timer(test):
    """
    Whatever the period and the offset, a thread has the samples of its CPU time, and each half of its work its share. A
    tick that comes some microseconds late finds a short run's thread asleep: a few percent of those that run for 100.
    """
    recording = test.record("--", test.target("beat"), SECONDS)
    profile = recording.finish(patience_s=60)
    told = re.findall(r"(beat \S+) early (\d+) late (\d+)", recording.stdout)
    expect_equal(len(told), 8, "the threads that say what they did")
    for name, early_ns, late_ns in told:
        thread = profile.thread(name=name)
        count = len(thread.samples())
        expected = thread.cpu_ns() / (profile.meta["interval"] * 1e6)
        expect_near(count, expected, 0.05 * expected + 2.5 * math.sqrt(expected), f"the samples of {thread}")
        early = thread.total_share("early_phase") / (thread.total_share("early_phase") + thread.total_share("late_phase"))
        truth = int(early_ns) / (int(early_ns) + int(late_ns))
        expect_near(early, truth, 0.03 + 2.5 * math.sqrt(0.25 / count), f"the share of the early half of {thread}'s work")


def test_the_rate_that_is_asked_for_and_the_one_that_is_used(test):
    target = test.start_target("hot")
    recording = test.record("--pid", target.pid, "--rate", 100, "--duration", 0.2)
    profile = recording.finish()
    expect("100 Hz" in recording.stderr, f"the first line does not say the rate: {recording.stderr}")
    expect_near(profile.meta["interval"], interval_ms(100), 1e-5, "meta.interval")
    expect_equal(profile.log()["period_ns"], 10030902, "the period in the log")
    expect_equal(profile.log()["sampling_rate_hz"], 100, "the rate in the log")
