# SPDX-License-Identifier: BSD-2-Clause
"""How much memory a process had, how many page faults, context switches and bytes of disks, as the kernel told the process
itself at that time, and as the Firefox Profiler's own client shows it."""

import json
import os
import re
import subprocess

from harness import Profile, expect, expect_equal, read_profile_bytes
from test_formats import convert

# What CPUs have not added up yet is not in what is recorded, but in what the process is told.
TOLERANCE = 2 << 20


def points_of(samples):
    """[(time, value)]: the points of a profile are changes."""
    points, value = [], 0
    for time_ms, change in samples:
        value += change
        points.append((time_ms, value))
    return points


def memory_of(holder):
    return [counter for counter in holder.get("counters", ()) if counter["category"] == "Memory"]


def tracks_of(path):
    """{pid: [[(time, value)] of each]} of a profile in either format."""
    raw = json.loads(read_profile_bytes(path))
    tracks = {}
    for process in raw.get("processes", ()):
        for counter in memory_of(process):
            tracks.setdefault(str(process["threads"][0]["pid"]), []).append(points_of(counter["samples"]["data"]))
    for counter in memory_of(raw) if "processes" not in raw else ():
        samples = counter["samples"]
        tracks.setdefault(counter["pid"], []).append(points_of(zip(samples["time"], samples["count"])))
        expect_equal(samples["length"], len(samples["time"]), "the length of a counter")
        expect_equal(raw["threads"][counter["mainThreadIndex"]]["pid"], counter["pid"], "whose main thread it is")
    for found in tracks.values():
        expect_equal(len(found), 1, "counters of a process")
        times = [time_ms for time_ms, _ in found[0]]
        expect_equal(times, sorted(times), "the times of a counter")
        expect_equal(found[0][0][1], 0, "the first value of a counter")
    return {pid: found[0] for pid, found in tracks.items()}


def value_at(points, time_ms):
    values = [value for at, value in points if at <= time_ms]
    expect(values, f"nothing at {time_ms} in {points[:3]}")
    return values[-1]


def record_grower(test, *options, output="memory.json.gz"):
    """Returns the recording, and what the program was told: [(what, pid, time, bytes)]."""
    grower = test.target("grower")
    next_one = test.copy_target("grower", "grower-next")
    recording = test.record("--all-processes", "--counters=memory", *options, "--", grower, next_one, output=output)
    expect_equal(recording.wait(60), 0, f"geckobpf's exit status: {recording.stderr}")
    told = [(what, pid, int(time_ns), int(amount))
            for what, pid, time_ns, amount in re.findall(r"held (\w+) (\d+) (\d+) (\d+)", recording.stdout)]
    expect_equal([what for what, *_ in told], ["small", "large", "again", "child", "last", "next"], "what the program did")
    return recording, told


def check_tracks(tracks, meta, told):
    for what, pid, time_ns, amount in told:
        time_ms = (time_ns - meta["startTimeAsClockMonotonicNanosecondsSinceBoot"]) / 1e6
        # Another image of a process has a track of its own.
        points = tracks[f"{pid}.1" if what == "next" else pid]
        got = value_at(points, time_ms)
        expect(abs(got - amount) <= max(TOLERANCE, amount / 50),
               f"{what}: {got} bytes, while the process was told {amount}: {points}")


def test_equals_statm(test):
    """100 MiB that come and go, a child, an exec: each value is what the kernel said, in each format."""
    recording, told = record_grower(test)
    profile = Profile(recording.path)
    tracks = tracks_of(recording.path)
    check_tracks(tracks, profile.meta, told)
    ends = {thread.pid: thread.unregister_ms for thread in profile.threads if thread.name == "GeckoMain"}
    for pid, points in tracks.items():
        expect(points[-1][0] <= ends[pid] + 0.001, f"process {pid} has memory at {points[-1][0]}, after {ends[pid]}")
        expect(points[-1][0] >= ends[pid] - 0.001, f"the counter of {pid} ends at {points[-1][0]}, before {ends[pid]}")
    client = test.client(recording.path)
    shown = client.call("counter", "list")["counters"]
    expect_equal({(counter["pid"], counter["category"], counter["label"], counter["unit"]) for counter in shown},
                 {(pid, "Memory", "Memory", "bytes") for pid in tracks}, "the counters that the client shows")


def test_raw_capture(test):
    """It is of raw captures and of streams, counts once where they are merged, and begins with its value in a part of time."""
    stream = os.path.join(test.directory, "stream.gbpf")
    recording, told = record_grower(test, "--stream", stream, output="whole.gbpf")
    shown = {}
    for name in ("gecko", "processed"):
        path = convert(test, recording.path, name)
        shown[name] = tracks_of(path)
        check_tracks(shown[name], json.loads(read_profile_bytes(path))["meta"], told)
    expect_equal(shown["processed"], shown["gecko"], "the counters of both formats")
    expect_equal(tracks_of(convert(test, stream, "gecko")), shown["gecko"], "the counters of a stream")
    merged, part = (os.path.join(test.directory, name) for name in ("merged.json", "part.json"))
    subprocess.run([test.geckobpf, "convert", stream, recording.path, "-o", merged], check=True, capture_output=True)
    expect_equal(tracks_of(merged), shown["gecko"], "the counters of two files that overlap")
    meta = Profile(merged).meta
    # From the middle of a hold of 100 MiB on.
    from_ms = (told[1][2] - meta["startTimeAsClockMonotonicNanosecondsSinceBoot"]) / 1e6 - 20
    subprocess.run([test.geckobpf, "convert", f"--from={from_ms / 1000:.6f}", recording.path, "-o", part], check=True,
                   capture_output=True)
    points = tracks_of(part)[told[1][1]]
    expect(abs(points[1][1] - told[1][3]) <= TOLERANCE and abs(points[1][0] - from_ms) < 0.01,
           f"a part from {from_ms} on begins with {points[:3]}")


AMOUNTS = ["Minor page faults", "Voluntary context switches", "Involuntary context switches", "Disk read", "Disk written"]


def amounts_of(path):
    """{pid: {name: sum of its points}} of a profile in either format."""
    raw, sums = json.loads(read_profile_bytes(path)), {}
    for process in raw.get("processes", ()):
        for counter in process.get("counters", ()):
            points = [change for _, change in counter["samples"]["data"]]
            sums.setdefault(str(process["threads"][0]["pid"]), {})[counter["name"]] = points
    for counter in raw.get("counters", ()):
        sums.setdefault(counter["pid"], {})[counter["name"]] = counter["samples"]["count"]
    for pid, found in sums.items():
        for name in set(found) & set(AMOUNTS):
            expect(min(found[name]) >= 0, f"{name} of {pid} falls: {found[name]}")
            expect_equal(found[name][0], 0, f"the first point of {name}, which the front-end leaves out")
    return {pid: {name: sum(points) for name, points in found.items()} for pid, found in sums.items()}


def test_amounts_equal_the_kernels(test):
    """Page faults, context switches and bytes of disks are what the kernel has counted, of two threads, in each format."""
    path = os.path.join(test.make_directory("disk"), "file")
    recording = test.record("--counters=all", "--", test.target("spender"), path, output="amounts.gbpf")
    expect_equal(recording.wait(60), 0, f"geckobpf's exit status: {recording.stderr}")
    told = {what: list(map(int, numbers.split()))
            for what, numbers in re.findall(r"at (\w+) ([\d ]+)", recording.stdout)}
    shown = {}
    for name in ("gecko", "processed"):
        converted = convert(test, recording.path, name)
        (shown[name],) = amounts_of(converted).values()
        for at, amount in enumerate(AMOUNTS):
            least, most = told["end"][at] - told["begin"][at], told["end"][at]
            # What comes after it looked: its exit.
            expect(least <= shown[name].get(amount, 0) <= most + 64,
                   f"{amount}: {shown[name].get(amount)}, while the kernel has counted {least} to {most}")
        client = test.client(converted)
        labels = {counter["label"] for counter in client.call("counter", "list")["counters"]}
        expect(labels >= set(AMOUNTS) | {"Memory"}, f"the counters that the client shows: {labels}")
    expect_equal(shown["processed"], shown["gecko"], "the counters of both formats")
    expect("counter_looks_without_slot" not in read_profile_bytes(converted).decode(), "it shared its slot with nobody")


def test_bytes_of_sockets(test):
    """By TCP, to the byte, in the process that moved them; what is looked at first counts once; Unix sockets are none."""
    recording = test.record("--all-processes", "--counters=network", "--", test.target("talker"), output="network.gbpf")
    expect_equal(recording.wait(60), 0, f"geckobpf's exit status: {recording.stderr}")
    parent, child, amount = re.search(r"talked (\d+) (\d+) (\d+)", recording.stdout).groups()
    for name in ("gecko", "processed"):
        shown = amounts_of(convert(test, recording.path, name))
        expect_equal(shown, {parent: {"Network sent": int(amount)}, child: {"Network received": int(amount)}},
                     "bytes of sockets")


def test_many_processes_share_slots(test):
    """Short processes, of which some have a sample: what is told of each is what it had, not what another had."""
    script = "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done"
    recording = test.record("--all-processes", "--counters=faults", "--", "sh", "-c", script)
    expect_equal(recording.wait(60), 0, f"geckobpf's exit status: {recording.stderr}")
    found = [sums["Minor page faults"] for sums in amounts_of(recording.path).values() if "Minor page faults" in sums]
    expect(len(found) > 10, f"only {len(found)} processes have page faults")
    # A shell forks with some 40 and /bin/true runs with some 100; the first shell has some for each fork.
    expect(all(faults < 1000 for faults in sorted(found)[:-1]), f"page faults: {sorted(found)[-5:]}")


def test_none(test):
    """Nothing is counted that was not asked for."""
    recording, _ = record_grower(test, "--counters=none")
    expect_equal(tracks_of(recording.path), {}, "the counters")
    expect("--counters=none" in Profile(recording.path).log()["options"], "the profile does not say that there are none")
