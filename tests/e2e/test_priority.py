# SPDX-License-Identifier: BSD-2-Clause
"""Where others keep all CPUs busy: the recorder goes before them, and nobody else does."""

import os
import signal

from harness import busy_children, children, comm, expect, expect_equal, kill, wait_until
from test_buffer import policies
from test_failures import failing

LOOPS_A_CPU = 32
LOOP = ["sh", "-c", "while :; do :; done"]
RATE_HZ = 4000
SECONDS = 3


def stop(recording):
    """Ctrl-C ends the command, too, and its status is ours."""
    recording.signal(signal.SIGINT)
    return recording.finish(status=128 + signal.SIGINT)


def raised(pid):
    """Its threads that go before others."""
    return [comm(f"{pid}/task/{tid}") for tid, policy in sorted(policies(pid).items()) if policy == os.SCHED_RR]


def parsers(recording):
    return [pid for pid in children(recording.pid) if comm(pid) == "geckobpf-parser"]


def test_nothing_is_lost_among_busy_loops(test):
    for _ in range(LOOPS_A_CPU * os.cpu_count()):
        test.start(LOOP)
    profile = test.record("--all", "--rate", RATE_HZ, "--duration", SECONDS).finish(patience_s=120)
    profile.expect_nothing_lost()
    log = profile.log()
    expect_equal(log["recorder_priority"], "SCHED_RR 2", "the priority that the profile tells")
    ticks = log["samples_captured"] + log["timer_ticks_missed"]
    expect(ticks > 0.9 * SECONDS * RATE_HZ * os.cpu_count(), f"{ticks} ticks of {os.cpu_count()} CPUs")


def test_only_the_recorder_is_raised(test):
    """And the thread that raises its readers; not its other threads, and not the command."""
    recording = test.record_running("--", *LOOP)
    command = wait_until(lambda: busy_children(recording.pid), "the command")[0]
    wait_until(lambda: raised(recording.pid) == ["geckobpf", "geckobpf-hurry"], "the recorder's thread to go before others")
    expect_equal(os.sched_getscheduler(command), os.SCHED_OTHER, "how the command is scheduled")
    expect_equal(os.getpriority(os.PRIO_PROCESS, command), 0, "the nice value of the command")
    expect_equal(stop(recording).log()["recorder_priority"], "SCHED_RR 2", "the priority that the profile tells")


def test_readers_are_raised(test):
    """Behind the recorder, also those that are started when it has no right to raise anybody any more."""
    recording = test.record_running("--all")
    for pid in parsers(recording):
        kill(pid, signal.SIGKILL)
    before = set(parsers(recording))
    program = test.copy_target("hot")
    with open(program, "ab") as file:
        file.write(b"another file")
    target = test.start_target(program)
    wait_until(lambda: set(parsers(recording)) - before, "another parser")
    for pid in set(parsers(recording)) - before:
        wait_until(lambda pid=pid: os.sched_getscheduler(pid) == os.SCHED_RR, "it to go before others")
        expect_equal(os.sched_getparam(pid).sched_priority, 1, "the priority of a parser")
    expect_equal(os.sched_getparam(recording.pid).sched_priority, 2, "the priority of the recorder")
    kill(target.pid, signal.SIGKILL)
    recording.stop()


def test_it_can_be_left_alone(test):
    recording = test.record_running("--no-priority", "--", *LOOP)
    expect(all(policy != os.SCHED_RR for policy in policies(recording.pid).values()), "a thread was raised")
    expect("recorder_priority" not in stop(recording).log(), "the profile tells a priority that it did not have")


def test_without_the_capability(test):
    """It records all the same, and -v says why it is not raised."""
    recording = test.record_running("-v", "--", *LOOP, prefix=["setpriv", "--bounding-set=-sys_nice"])
    expect("recorder_priority" not in stop(recording).log(), "the profile tells a priority that it did not have")
    expect("priority: not raised: Operation not permitted" in recording.stderr, "-v does not say that it is not raised")


def test_the_best_nice_value_is_second_best(test):
    """Where real-time scheduling is not allowed."""
    library = os.path.join(test.build, "tests", "e2e", "no_real_time.so")
    env = {**failing(test, "no file", 0, 0), "LD_PRELOAD": library}
    recording = test.record_running("--", *LOOP, env=env)
    command = wait_until(lambda: busy_children(recording.pid), "the command")[0]
    expect_equal(os.getpriority(os.PRIO_PROCESS, recording.pid), -20, "the nice value of the recorder")
    expect_equal(os.getpriority(os.PRIO_PROCESS, command), 0, "the nice value of the command")
    expect_equal(stop(recording).log()["recorder_priority"], "nice -20", "the priority that the profile tells")


def expect_given(test, option, name, told):
    """What it was given by chrt(1) stays."""
    policy = {"--fifo": os.SCHED_FIFO, "--batch": os.SCHED_BATCH, "--idle": os.SCHED_IDLE}[option]
    recording = test.record_running("--", *LOOP, prefix=["chrt", option, "2" if policy == os.SCHED_FIFO else "0"])
    expect_equal(os.sched_getscheduler(recording.pid), policy, f"how a recorder with {name} is scheduled")
    expect_equal(stop(recording).log().get("recorder_priority"), told, f"the priority that the profile tells with {name}")


def test_what_was_given_stays(test):
    expect_given(test, "--fifo", "SCHED_FIFO", "as it was given")
    expect_given(test, "--batch", "SCHED_BATCH", None)
    expect_given(test, "--idle", "SCHED_IDLE", None)


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_it_saves_before_others(test):
    """Not in real time, for it takes a while. It is stopped in the middle of its file, and looked at."""
    target, directory = test.start_target("threads"), test.make_directory("out")
    recording = test.record_running("--pid", target.pid, "--rate", 10000, directory=directory, output="profile.json.gz",
                                    env=failing(test, directory, 1000, 0))
    recording.signal(signal.SIGINT)
    wait_until(lambda: state(recording.pid) == "T", "it to stop in the middle of its file")
    policy = os.sched_getscheduler(recording.pid) & ~os.SCHED_RESET_ON_FORK
    expect_equal(policy, os.SCHED_OTHER, "how it is scheduled while it saves")
    expect_equal(os.getpriority(os.PRIO_PROCESS, recording.pid), -20, "its nice value while it saves")
    recording.signal(signal.SIGCONT)
    recording.finish()
