# SPDX-License-Identifier: BSD-2-Clause
"""Programs that a timer wakes at round times: samples do not fall in step with them."""

import math
import re

from harness import expect, expect_between, expect_equal, expect_near, interval_ms, stolen_ns

SECONDS = 10


def test_samples_are_in_step_with_no_timer(test):
    """
    Whatever the period and the offset, each half of a thread's work has the samples of its CPU time: also of the ticks that
    come when a run of 100 us is over already. Those are sampled where the kernel switches, and what leads from there to
    the sampling is not shown. What a hypervisor took is in no thread's CPU time, and a tick that was due then may have
    found any. Beside the work, the kernel's account of a thread has the way from its wake-up to the CPU.
    """
    stolen = stolen_ns()
    recording = test.record("--", test.target("beat"), SECONDS)
    profile = recording.finish(patience_s=60)
    interval = profile.meta["interval"] * 1e6
    stolen = (stolen_ns() - stolen) / interval
    told = re.findall(r"(beat \S+) early (\d+) late (\d+)", recording.stdout)
    expect_equal(len(told), 8, "the threads that say what they did")
    switched = 0
    for name, early_ns, late_ns in told:
        thread = profile.thread(name=name)
        count = len(thread.samples())
        early, late = (thread.total_share(phase) * count for phase in ("early_phase", "late_phase"))
        work, most = (int(early_ns) + int(late_ns)) / interval, thread.cpu_ns() / interval
        slack = 2.5 * math.sqrt(most) + stolen
        expect_near(early + late, work, 0.05 * work + slack, f"the samples of {thread}'s work")
        expect_between(count, 0.95 * work - slack, 1.05 * most + slack, f"the samples of {thread}")
        truth = int(early_ns) / (int(early_ns) + int(late_ns))
        expect_near(early / (early + late), truth, 0.03 + 2.5 * math.sqrt(0.25 / count),
                    f"the share of the early half of {thread}'s work")
        switched += thread.self_samples()["__schedule"]
        expect_equal([leaf for leaf in thread.self_samples() if "bpf" in leaf], [], f"leaf functions of BPF in {thread}")
    expect(switched > 0, "no sample was taken where the kernel switches")


def test_the_rate_that_is_asked_for_and_the_one_that_is_used(test):
    target = test.start_target("hot")
    recording = test.record("--pid", target.pid, "--rate", 100, "--duration", 0.2)
    profile = recording.finish()
    expect("97 Hz" in recording.stderr, f"the first line does not say the rate: {recording.stderr}")
    expect_near(profile.meta["interval"], interval_ms(100), 1e-5, "meta.interval")
    expect_equal(profile.log()["period_ns"], 10309017, "the period in the log")
    expect_equal(profile.log()["sampling_rate_hz"], 100, "the rate in the log")
