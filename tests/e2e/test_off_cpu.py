# SPDX-License-Identifier: BSD-2-Clause
"""Samples of the time off the CPU: where a program waits, why, and for how long; beside its CPU time they are all the time
there is."""

import collections
import re

from harness import expect, expect_equal, expect_near, function_name, stolen_ns

SECONDS = 4
# Where the waiter waits, and why.
REASONS = {"nap": "[sleep] clock_nanosleep", "take_lock": "[lock] futex", "read_pipe": "[pipe] read"}
OFF_CPU = {"Blocked", "Idle", "Runnable"}


def sleeps(thread):
    """{(leaf, root, functions): intervals} of what was not on the CPU."""
    found = collections.Counter()
    for row in thread.rows():
        if row.stack is None:
            continue
        frames = thread.frames(row.stack)
        if frames[-1][1] in OFF_CPU:
            names = [function_name(location) for location, _ in frames]
            found[names[-1], names[0], tuple(names)] += 1
    return found


def off_cpu_ms(thread):
    return sum(sleeps(thread).values()) * thread.profile.meta["interval"]


def inside_ms(thread, function):
    """With the function on the stack, on the CPU or not."""
    rows = sum(function in [function_name(location) for location, _ in thread.frames(row.stack)]
               for row in thread.rows() if row.stack is not None)
    return rows * thread.profile.meta["interval"]


def expect_all_time(thread, end_ms, stolen_ms):
    """An interval is in no sample yet at the end, and another one is between the kernel's account and the clock."""
    lived_ms = (thread.unregister_ms or end_ms) - thread.register_ms
    expect_near(thread.cpu_ns() / 1e6 + off_cpu_ms(thread), lived_ms, 0.005 * lived_ms + stolen_ms + 3,
                f"ms on and off the CPU of {thread}")


def has_stacks(profile):
    """Whether this kernel lets stacks of sleeps be taken."""
    return "not taken" not in profile.log()["sleep_stacks"]


def expect_phases(thread, stdout):
    """What the program says of itself, beside what the profile says."""
    told = {name: int(ns) / 1e6 for name, ns in re.findall(r"^(\w+) (\d+)$", stdout, re.MULTILINE) if name != "ready"}
    all_ms = sum(told.values())
    for name, told_ms in told.items():
        expect_near(inside_ms(thread, name), told_ms, 0.03 * all_ms, f"ms in {name}()")
    for name, reason in REASONS.items():
        leaves = {leaf for leaf, _, functions in sleeps(thread) if name in functions}
        expect(reason in leaves, f"{name}() waits for {leaves}, not for {reason}")
        expect(leaves <= {reason, "[runnable]", "[page fault]", "[disk] page fault"}, f"{name}() waits for {leaves}")


def test_where_a_program_waits(test):
    stolen = stolen_ns()
    recording = test.record("--off-cpu=on", "--", test.target("waiter"), SECONDS)
    profile = recording.finish(patience_s=60)
    stolen_ms = (stolen_ns() - stolen) / 1e6
    for thread in profile.threads:
        expect_all_time(thread, profile.meta["profilingEndTime"], stolen_ms)
    profile.expect_nothing_lost()
    if not has_stacks(profile):
        return
    expect_phases(profile.thread(name="GeckoMain"), recording.stdout)
    log = profile.log()
    expect(log["sleeps_with_whole_stack"] >= 0.99 * (log["sleeps_with_whole_stack"] + log["sleeps_with_cut_stack"]),
           f"{log['sleeps_with_cut_stack']} stacks of sleeps are cut")
    holder = {leaf for leaf, _, _ in sleeps(profile.thread(name="holder"))}
    expect("[pipe] read" in holder and "[sleep] clock_nanosleep" in holder, f"the holder waits for {holder}")


def test_a_thread_that_never_wakes_up(test):
    """It slept before the recording began, and does when it ends."""
    target = test.start_target("waiter")
    profile = test.record("--off-cpu=on", "--pid", target.pid, "--duration", 1).finish()
    thread = profile.thread(name="forever")
    expect_equal({(leaf, root) for leaf, root, _ in sleeps(thread)},
                 {("[sleep] pause", "(truncated: it did not run again)")}, "why it sleeps")
    expect_near(off_cpu_ms(thread), profile.duration_ms, 20, "ms that it slept")


def test_reports_have_what_ran(test):
    """The same of a profile and of a raw capture."""
    recording = test.record("--off-cpu=on", "--", test.target("waiter"), 1, output="x.gbpf")
    expect_equal(recording.wait(), 0, f"geckobpf's exit status: {recording.stderr}")
    path = f"{recording.directory}/x.json"
    for command in (["convert", recording.path, "-o", path], ["report", recording.path], ["report", path]):
        done = test.start([test.geckobpf, *command])
        expect_equal(done.wait(), 0, f"the exit status of {command[0]}")
        shown = [line for line in done.stdout.splitlines() if any(reason in line for reason in REASONS.values())]
        expect_equal(shown, [], f"sleeps in {command}")
        if command[0] == "report":
            expect("compute" in done.stdout, f"no compute() in: {done.stdout}")


def test_off_is_off(test):
    profile = test.record("--off-cpu=off", "--", test.target("waiter"), 0.3).finish()
    for thread in profile.threads:
        expect_equal(sleeps(thread), {}, f"sleeps of {thread}")
    expect("sleep_stacks" not in profile.log(), "the log tells of sleeps")
