# SPDX-License-Identifier: BSD-2-Clause
"""What is recorded: descendants that run already, threads by name; and what is said if there is nothing."""

import os
import re
import signal
import subprocess
import time

from harness import PYTHON, alone, children, descendants, expect, expect_equal, expect_match, is_alive, wait_until
from test_captures import pause_s

BESIDE_OTHERS = True

LOOP = "while :; do :; done"
FAMILY = 100
# A line begins it: children that burn, one each 5 ms, every second of them by way of a shell that waits for it.
FAMILY_SCRIPT = f"""
import os, sys, time
print("ready", flush=True)
sys.stdin.readline()
for number in range({FAMILY}):
    if os.fork() == 0:
        if number % 2 and os.fork():
            os.wait()
            os._exit(0)
        os.write(1, b"%d\\n" % os.getpid())  # in one piece
        while True:
            pass
    time.sleep(0.005)
print("all", flush=True)
os.wait()
"""


def start_tree(test):
    """A shell that waits for two: one that burns, and one that waits for another that does."""
    tree = test.start(["sh", "-c", f"sh -c '{LOOP}' & sh -c 'sh -c \"{LOOP}\" & wait' & wait"])
    wait_until(lambda: len(descendants(tree.pid)) == 3, "the tree")
    return tree, descendants(tree.pid)


def burning(profile):
    """The processes that have samples."""
    return {int(thread.pid.split(".")[0]) for thread in profile.threads if len(thread.samples()) > 5}


def test_running_descendants(test):
    """A server that waits for its workers: the workers are recorded."""
    tree, others = start_tree(test)
    expected = {pid for pid in others if not children(pid)}
    expect_equal(len(expected), 2, "processes that burn")
    recording = test.record_running("--pid", tree.pid, "--duration", 1)
    expect_match(r"and 3 more processes", recording.stderr, "the announcement")
    expect_equal(burning(recording.finish()), expected, "the processes that have samples")


def test_no_children(test):
    tree, _ = start_tree(test)
    recording = test.record("--pid", tree.pid, "--duration", 0.5, "--no-children")
    expect_equal(burning(recording.finish()), set(), "the processes that have samples")
    expect_match(r"no samples: sh slept: .*; it has children: record without --no-children", recording.stderr, "what it says")


def wait_for_family(family):
    def is_whole():
        family.read(0.1)
        return len(re.findall(r"^\d+$", family.stdout, re.MULTILINE)) == FAMILY
    wait_until(is_whole, "all of the family")
    return family.stdout


@alone
def test_none_is_missed(test):
    """Children of children that are forked while it looks for them."""
    family = test.start([PYTHON, "-c", FAMILY_SCRIPT], stdin=subprocess.PIPE)
    family.wait_for("ready\n")
    recording = test.record("--pid", family.pid)
    family.write("go\n")
    recording.wait_started()
    family.wait_for(r"all\n")
    burn = set(map(int, re.findall(r"^\d+$", wait_for_family(family), re.MULTILINE)))
    pause_s(3)
    profile = recording.stop()
    seen = {int(thread.pid.split(".")[0]) for thread in profile.threads if thread.samples()}
    expect_equal(sorted(burn - seen), [], "processes of the family without a sample")


def test_it_waits_for_no_ancestor(test):
    """One that waits for the recording to end, as sudo does, is no target that it waits for."""
    path = os.path.join(test.make_directory("out"), "profile.json")
    script = f"sh -c '{test.geckobpf} --pid '$$' -o {path}; exit 0' & read line"
    script_process = test.start(["sh", "-c", script], stdin=subprocess.PIPE)
    script_process.wait_for(r"\bHz\b.*\n", stream="stderr")
    waiting = children(script_process.pid)[0]
    script_process.write("go\n")
    script_process.wait()
    wait_until(lambda: not is_alive(waiting), "the recording to end with its target")
    expect(os.path.exists(path), "there is no profile")


# ---- threads by name ---------------------------------------------------------------------------------------------------
def test_threads(test):
    target = test.start_target("threads")
    for names, expected in (("busy", {"busy"}), ("*", {"busy", "half", "tenth"}), ("h?lf,te*", {"half", "tenth"})):
        profile = test.record("--pid", target.pid, "--duration", 1, "--threads", names).finish()
        found = {thread.name for thread in profile.threads if len(thread.samples()) > 3}
        expect_equal(found, expected, f"the threads that have samples with --threads {names}")
        log = profile.log()
        expect_equal(log["timer_ticks_of_other_threads"] > 0, names != "*", f"whether ticks were left out with {names}")


def test_threads_without_one(test):
    target = test.start_target("threads")
    recording = test.record("--pid", target.pid, "--duration", 0.5, "--threads", "worker*")
    expect_equal(recording.finish().log()["samples_recorded"], 0, "samples")
    expect_match(r"no samples: no thread that ran is called worker\*; those that did: ('(busy|half|tenth)'(, |; give)){3}",
                 recording.stderr, "what it says")


def test_threads_that_cannot_be(test):
    for names, why in (("a23456789012345678", "a name of more than 15 characters"), (",", "no name"),
                       (",".join(["12345678"] * 8), "more than 60 characters")):
        recording = test.record("--all", "--threads", names)
        expect_equal(recording.wait(), 1, f"the exit status with --threads {names}")
        expect(why in recording.stderr, f"with --threads {names} it says: {recording.stderr}")


# ---- no samples ----------------------------------------------------------------------------------------------------------
def expect_why(recording, pattern):
    recording.finish(status=None)
    expect_match(r"warning: no samples: " + pattern, recording.stderr, "what it says")


def test_no_samples(test):
    sleeper = test.start(["sleep", "100"])
    expect_why(test.record("--pid", sleeper.pid, "--duration", 0.3),
               r"sleep slept: it used 0\.\d ms of CPU time in 0\.\d s; give it something to do meanwhile")
    expect_why(test.record("--delay", 60, "--", "true"), "the recording ended before --delay was over; give a shorter one")


def test_no_samples_in_a_pause(test):
    sleeper = test.start(["sleep", "100"])
    recording = test.record_running("--pid", sleeper.pid)
    begin = time.monotonic()
    recording.signal(signal.SIGUSR1)
    recording.wait_for("paused", stream="stderr")
    pause_s(0.5 + 12 * (time.monotonic() - begin))
    recording.signal(signal.SIGINT)
    expect_why(recording, r"it was paused for \d+\.\d of \d+\.\d s; let it go on")
