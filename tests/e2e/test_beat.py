# SPDX-License-Identifier: BSD-2-Clause
"""Programs that a timer wakes at round times: samples do not fall in step with them."""

import math
import re

from harness import expect, expect_equal, expect_near, interval_ms, stolen_ns

SECONDS = 10


def test_samples_are_in_step_with_no_timer(test):
    """
    Whatever the period and the offset, a thread has the samples of its CPU time, and each half of its work its share: also
    of the ticks that come when a run of 100 us is over already. Those are sampled where the kernel switches, and what
    leads from there to the sampling is not shown. What a hypervisor took is in no thread's CPU time, and a tick that was
    due then may have found any.
    """
    stolen = stolen_ns()
    recording = test.record("--", test.target("beat"), SECONDS)
    profile = recording.finish(patience_s=60)
    stolen = (stolen_ns() - stolen) / (profile.meta["interval"] * 1e6)
    told = re.findall(r"(beat \S+) early (\d+) late (\d+)", recording.stdout)
    expect_equal(len(told), 8, "the threads that say what they did")
    switched = 0
    for name, early_ns, late_ns in told:
        thread = profile.thread(name=name)
        count = len(thread.samples())
        expected = thread.cpu_ns() / (profile.meta["interval"] * 1e6)
        expect_near(count, expected, 0.05 * expected + 2.5 * math.sqrt(expected) + stolen, f"the samples of {thread}")
        early = thread.total_share("early_phase") / (thread.total_share("early_phase") + thread.total_share("late_phase"))
        truth = int(early_ns) / (int(early_ns) + int(late_ns))
        expect_near(early, truth, 0.03 + 2.5 * math.sqrt(0.25 / count), f"the share of the early half of {thread}'s work")
        switched += thread.self_samples()["__schedule"]
        expect_equal([name for name in thread.self_samples() if "bpf" in name], [], f"leaf functions of BPF in {thread}")
    expect(switched > 0, "no sample was taken where the kernel switches")


def test_the_rate_that_is_asked_for_and_the_one_that_is_used(test):
    target = test.start_target("hot")
    recording = test.record("--pid", target.pid, "--rate", 100, "--duration", 0.2)
    profile = recording.finish()
    expect("100 Hz" in recording.stderr, f"the first line does not say the rate: {recording.stderr}")
    expect_near(profile.meta["interval"], interval_ms(100), 1e-5, "meta.interval")
    expect_equal(profile.log()["period_ns"], 10030902, "the period in the log")
    expect_equal(profile.log()["sampling_rate_hz"], 100, "the rate in the log")
