# SPDX-License-Identifier: BSD-2-Clause
"""What was lost is told with its time, and adds up to what was counted: of a recorder that is stopped until its ring is full."""

import os
import signal
import time

from harness import Profile, expect, expect_equal, schedstat_ns, wait_until
from test_captures import capture
from test_formats import convert
from test_markers import shown_markers

RATE_HZ = 10000
DEPTH = 800  # of calls: a sample has some kilobytes, and a ring holds a small part of a second of them
STARVED_NS = 500 * 10**6  # of the program's CPU time
LOSSES = ("samples_lost_ring_full", "samples_lost_recursion", "samples_lost_buffer", "samples_left_out_at_end",
          "timer_ticks_missed_own", "timer_ticks_missed_throttled", "timer_ticks_missed_other", "events_lost_ring_full",
          "events_lost_recursion", "children_not_followed", "records_lost_memory", "records_bad", "mappings_lost_ring_full",
          "events_left_out_at_end")


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def starve(recording, target):
    """Returns from when to when it did not run."""
    from_ns = now_ns()
    recording.signal(signal.SIGSTOP)
    end_ns = schedstat_ns(target.pid) + STARVED_NS
    wait_until(lambda: schedstat_ns(target.pid) > end_ns, "the program to go on", patience_s=60)
    to_ns = now_ns()
    recording.signal(signal.SIGCONT)
    return from_ns, to_ns


def losses(profile):
    """[(thread, name, start, end, payload)], ms of the profile."""
    return [(thread, thread.raw["stringTable"][marker["name"]], marker["startTime"], marker["endTime"], marker["data"])
            for thread in profile.threads for marker in thread.table("markers")
            if marker["data"] and marker["data"]["type"] == "Loss"]


def sums(markers):
    """{counter: how many}"""
    found = {}
    for *_, data in markers:
        found[data["counter"]] = found.get(data["counter"], 0) + data["count"]
    return found


def check(profile, pid):
    """The markers add up to the counters of the log, on one thread. Returns those of the ring."""
    markers, log = losses(profile), profile.log()
    expect_equal(sums(markers), {name: log[name] for name in LOSSES if log.get(name)}, "what the markers add up to")
    expect_equal({(thread.pid, thread.tid) for thread, *_ in markers}, {(str(pid), pid)}, "where the markers are")
    for marker in markers:
        expect(0 <= marker[2] <= marker[3] <= profile.duration_ms + 0.001, f"the times of {marker}")
        if marker[4]["counter"].startswith("timer_ticks_missed"):
            expect_equal(round(marker[4]["cpu"] * 1e6), round(marker[4]["count"] * profile.meta["interval"] * 1e6),
                         "the CPU time of missed ticks")
    ring = [marker for marker in markers if marker[4]["counter"] == "samples_lost_ring_full"]
    expect_equal({(marker[1], marker[4]["why"]) for marker in ring}, {("Samples lost", "the ring of samples was full")},
                 "what the markers say")
    return ring


def covers(profile, ring, from_ns, to_ns):
    """A loss has the time in which the recorder did not run."""
    start_ns = profile.meta["startTimeAsClockMonotonicNanosecondsSinceBoot"]
    spans = [(start_ns + start * 1e6, start_ns + end * 1e6) for _, _, start, end, _ in ring]
    middle_ns = (from_ns + to_ns) / 2
    expect(any(start <= middle_ns and end >= to_ns for start, end in spans),
           f"no loss has the time from {from_ns} to {to_ns}: {spans}")


def record_starved(test, *arguments, **rest):
    target = test.start_target("hot", 120, DEPTH)
    recording = test.record_running("--pid", target.pid, "--rate", RATE_HZ, *arguments, **rest)
    return target, recording


def test_when_the_ring_was_full(test):
    """In the profile, a capture of it and what becomes of its stream, in both formats."""
    stream = os.path.join(test.make_directory("stream"), "s.gbpf")
    target, recording = record_starved(test, "--stream", stream, output="profile.json.gz")
    first = starve(recording, target)
    early = capture(recording, 1)
    covers(early, check(early, target.pid), *first)
    second = starve(recording, target)
    profile = recording.stop()
    ring = check(profile, target.pid)
    covers(profile, ring, *first)
    covers(profile, ring, *second)
    expect("of them: the ring of samples was full" in recording.stderr, f"the summary has no cause: {recording.stderr}")
    streamed = Profile(convert(test, stream, "gecko"))
    expect_equal([marker[1:] for marker in losses(streamed)], [marker[1:] for marker in losses(profile)],
                 "the losses that the stream has")
    shown = [shown_markers(test.client(path))["Loss"] for path in (recording.path, convert(test, stream, "processed"))]
    for marker in shown[0]:
        expect(marker["label"].endswith(f": {marker['data']['why']}"), f"the label of {marker}")
    expect_equal(*([(marker["name"], marker["start"], marker["duration"], sorted(marker["data"].items()))
                    for marker in markers] for markers in shown), "the losses that the client shows")


def test_killed(test):
    """A stream has them up to the last half second."""
    stream = os.path.join(test.make_directory("stream"), "s.gbpf")
    target, recording = record_starved(test, "--stream", stream, output=None)
    starved = starve(recording, target)
    size = os.path.getsize(stream)
    wait_until(lambda: os.path.getsize(stream) > size, "the stream to go on")
    size = os.path.getsize(stream)
    wait_until(lambda: os.path.getsize(stream) > size, "the stream to go on once more")
    recording.signal(signal.SIGKILL)
    recording.wait()
    profile = Profile(convert(test, stream, "gecko"))
    ring = [marker for marker in losses(profile) if marker[4]["counter"] == "samples_lost_ring_full"]
    covers(profile, ring, *starved)
