# SPDX-License-Identifier: BSD-2-Clause
"""What can be done to a recording while it runs: captures, pauses, a delay, and a buffer that is too small for it."""

import os
import select
import signal
import time

from harness import Profile, alone, burn, busy_children, expect, expect_equal, expect_near, interval_ms, kill, wait_until

BESIDE_OTHERS = True


def pause_s(seconds):
    select.select([], [], [], seconds)


def capture(recording, number, when_begun=None):
    """Asks for a capture and returns the profile. What is in it is decided when it begins, in a process of its own."""
    path = recording.path.replace(".json", f"-{number}.json")
    recording.signal(signal.SIGUSR2)
    if when_begun:
        wait_until(lambda: busy_children(recording.pid) or os.path.exists(path), "a capture to begin")
        when_begun()
    recording.wait_for(rf"wrote {path} .*\n", patience_s=120, stream="stderr")
    return Profile(path)


def sample_times(profile):
    """{thread: [time of a sample since boot, ns]}"""
    start_ns = profile.meta["startTimeAsClockMonotonicNanosecondsSinceBoot"]
    return {(thread.pid, thread.tid): [start_ns + round(row.time_ms * 1e6) for row in thread.samples()]
            for thread in profile.threads}


def check_seam(earlier, later):
    """The later capture has exactly the samples of the earlier one up to its end, each once."""
    end_ns = (earlier.meta["startTimeAsClockMonotonicNanosecondsSinceBoot"]
              + round(earlier.meta["profilingEndTime"] * 1e6))
    before, after = sample_times(earlier), sample_times(later)
    for thread, times in before.items():
        expect_equal(len(times), len(set(times)), f"samples of {thread} and different times of them")
        expect(not times or times[-1] <= end_ns, f"{thread} has a sample after the end of the capture")
        again = [time for time in after.get(thread, []) if time <= end_ns]
        expect_equal(again, times, f"the times of the samples of {thread} in two captures, up to the end of the first")


def test_seam(test):
    target = test.start_target("threads")
    recording = test.record_running("--pid", target.pid, "--rate", 10000)
    captures = []
    for number in (1, 2, 3):
        burn(target.pid, 0.4)
        captures.append(capture(recording, number))
    captures.append(recording.stop())
    for earlier, later in zip(captures, captures[1:]):
        check_seam(earlier, later)
    counts = [sum(map(len, sample_times(profile).values())) for profile in captures]
    expect(all(a + 1000 < b for a, b in zip(counts, counts[1:])), f"captures do not grow: {counts}")
    for profile in captures:
        profile.expect_nothing_lost()
    test.client(captures[0])


def test_capture_of_command_and_exit(test):
    """A capture that is asked for as the target ends is finished before the last profile is."""
    recording = test.record_running("--", test.target("hot"), 1)
    pause_s(0.5)
    recording.signal(signal.SIGUSR2)
    profile = recording.finish()
    path = recording.path.replace(".json", "-1.json")
    expect(os.path.exists(path), f"there is no {path}: {recording.stderr}")
    check_seam(Profile(path), profile)


def test_capture_and_stop_at_once(test):
    """Neither signal makes the other one forgotten."""
    target = test.start_target("hot")
    recording = test.record_running("--pid", target.pid)
    burn(target.pid, 0.1)
    kill(recording.pid, signal.SIGSTOP)
    recording.signal(signal.SIGUSR2)
    recording.signal(signal.SIGINT)
    kill(recording.pid, signal.SIGCONT)
    profile = recording.finish()
    path = recording.path.replace(".json", "-1.json")
    expect(os.path.exists(path), f"there is no {path}: {recording.stderr}")
    check_seam(Profile(path), profile)


def test_capture_killed(test):
    """What kills the process that writes a capture does not touch the recording."""
    target = test.start_target("hot")
    recording = test.record_running("--pid", target.pid)
    burn(target.pid, 0.1)
    recording.signal(signal.SIGUSR2)
    writers = []
    while not writers:
        writers = busy_children(recording.pid)
    kill(writers[0], signal.SIGKILL)
    recording.wait_for(r"capture 1: .*killed by signal 9", stream="stderr")
    second = capture(recording, 2)
    expect(second.main_thread(target.pid).samples(), "the second capture is empty")
    recording.stop().expect_nothing_lost()


def test_pause(test):
    target = test.start_target("hot")
    recording = test.record_running("--pid", target.pid)
    burn(target.pid, 0.3)
    recording.signal(signal.SIGUSR1)
    recording.wait_for("paused", stream="stderr")
    pause_s(0.6)
    while_paused = capture(recording, 1)
    recording.signal(signal.SIGUSR1)
    recording.wait_for("goes on", stream="stderr")
    burn(target.pid, 0.3)
    profile = recording.stop()
    expect_equal(len(while_paused.raw["pausedRanges"]), 1, "paused ranges while paused")
    expect_equal(while_paused.raw["pausedRanges"][0]["endTime"], None, "the end of a pause that lasts")
    expect_equal(len(profile.raw["pausedRanges"]), 1, "paused ranges")
    pause = profile.raw["pausedRanges"][0]
    expect_equal(pause["reason"], "profiler-paused", "the reason")
    expect(pause["endTime"] - pause["startTime"] > 590, f"the pause was {pause}")
    times = [row.time_ms for row in profile.main_thread(target.pid).samples()]
    inside = [time for time in times if pause["startTime"] < time < pause["endTime"]]
    expect_equal(inside, [], "samples during the pause")
    expect(sum(time < pause["startTime"] for time in times) > 200, "too few samples before the pause")
    expect(sum(time > pause["endTime"] for time in times) > 200, "too few samples after the pause")
    expect(profile.log()["timer_ticks_missed"] < 400, "the pause counts as missed ticks")
    test.client(profile)


@alone
def test_delay(test):
    recording = test.record("--delay", 0.7, "--duration", 0.5, "--", test.target("hot"), 3)
    profile = recording.finish()
    thread = profile.thread(name="GeckoMain", process_name="hot")
    expect(480 <= profile.duration_ms <= 1000, f"the recording took {profile.duration_ms} ms: 500, not with the delay")
    expect(thread.samples()[0].time_ms < 100, f"the first sample is at {thread.samples()[0].time_ms} ms")
    # What it ran before must not be in the first sample.
    samples = len(thread.samples())
    missed = profile.log()["timer_ticks_missed"]
    expect_near(thread.cpu_ns() / 1e6, samples + missed, 0.2 * samples + 20, "the CPU time (ms), of samples 1 ms apart,")


def test_signals_during_delay(test):
    """Neither a pause nor a capture makes sense yet: both are refused with a reason, and the recording takes place."""
    target = test.start_target("hot")
    recording = test.record_running("--pid", target.pid, "--delay", 1, "--duration", 0.3)
    recording.signal(signal.SIGUSR2)
    recording.wait_for("SIGUSR2: waiting to begin: cannot capture", stream="stderr")
    recording.signal(signal.SIGUSR1)
    recording.wait_for("SIGUSR1: waiting to begin: cannot pause", stream="stderr")
    expect(recording.finish().main_thread(target.pid).samples(), "no samples")


def test_interrupt_during_delay(test):
    target = test.start_target("hot")
    recording = test.record_running("--pid", target.pid, "--delay", 60)
    recording.signal(signal.SIGINT)
    profile = recording.finish()
    expect_equal(profile.main_thread(target.pid).samples(), [], "samples before the delay was over")
    expect_near(profile.meta["startTime"] / 1000, time.time(), 60, "the start of the profile")
    test.client(profile)


def test_options_from_environment(test):
    target = test.start_target("hot")
    options = {**os.environ, "GECKOBPF_OPTIONS": "  --rate 50\t--duration 0.2 "}
    profile = test.record("--pid", target.pid, "--rate", 100, env=options).finish()
    expect_near(profile.meta["interval"], interval_ms(100), 1e-5, "the interval: the command line has the last word")
    expect(profile.duration_ms < 1000, "the duration of the environment did not count")
