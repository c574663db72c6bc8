# SPDX-License-Identifier: BSD-2-Clause
"""Where others keep all CPUs busy: the recorder goes before them, and nobody else does."""

import os
import signal

from harness import children, expect, expect_equal, wait_until
from test_buffer import policies

LOOPS_A_CPU = 32
LOOP = ["sh", "-c", "while :; do :; done"]
RATE_HZ = 4000
SECONDS = 3


def stop(recording):
    """Ctrl-C ends the command, too, and its status is ours."""
    recording.signal(signal.SIGINT)
    return recording.finish(status=128 + signal.SIGINT)


def raised(pid):
    """Its threads that go before others. Those that compile unwind tables do, for a moment."""
    return [tid for tid, policy in policies(pid).items() if policy == os.SCHED_RR]


def test_nothing_is_lost_among_busy_loops(test):
    for _ in range(LOOPS_A_CPU * os.cpu_count()):
        test.start(LOOP)
    profile = test.record("--all", "--rate", RATE_HZ, "--duration", SECONDS).finish(patience_s=120)
    profile.expect_nothing_lost()
    log = profile.log()
    expect_equal(log["recorder_priority"], "SCHED_RR 1", "the priority that the profile tells")
    ticks = log["samples_captured"] + log["timer_ticks_missed"]
    expect(ticks > 0.9 * SECONDS * RATE_HZ * os.cpu_count(), f"{ticks} ticks of {os.cpu_count()} CPUs")


def test_only_the_recorder_is_raised(test):
    """Not its other threads, and not the command."""
    recording = test.record_running("--", *LOOP)
    command = wait_until(lambda: children(recording.pid), "the command")[0]
    wait_until(lambda: raised(recording.pid) == [recording.pid], "the recorder's thread alone to go before others")
    expect_equal(os.sched_getscheduler(command), os.SCHED_OTHER, "how the command is scheduled")
    expect_equal(os.getpriority(os.PRIO_PROCESS, command), 0, "the nice value of the command")
    expect_equal(stop(recording).log()["recorder_priority"], "SCHED_RR 1", "the priority that the profile tells")


def test_it_can_be_left_alone(test):
    recording = test.record_running("--no-priority", "--", *LOOP)
    expect(all(policy != os.SCHED_RR for policy in policies(recording.pid).values()), "a thread was raised")
    expect("recorder_priority" not in stop(recording).log(), "the profile tells a priority that it did not have")


def test_without_the_capability(test):
    """It records all the same, and -v says why it is not raised."""
    recording = test.record_running("-v", "--", *LOOP, prefix=["setpriv", "--bounding-set=-sys_nice"])
    expect("recorder_priority" not in stop(recording).log(), "the profile tells a priority that it did not have")
    expect("priority: not raised: Operation not permitted" in recording.stderr, "-v does not say that it is not raised")
