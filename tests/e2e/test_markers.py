# SPDX-License-Identifier: BSD-2-Clause
"""What happened beside the samples, as the Firefox Profiler's own client shows it: who made which process, and how it ended."""

import signal

from harness import expect, expect_equal
from test_formats import convert

BESIDE_OTHERS = True

# Nothing in it needs a sample: the shell was asked for, so it has a track.
SCRIPT = "sh -c 'exit 3'; sh -c 'kill -9 $$'; env true; (exit 4); wait"


def shown_markers(client):
    """Those of all threads, by type."""
    markers = {}
    for thread in client.threads():
        found = client.call("thread", "markers", "--thread", thread[3], "--list", "--limit", "0")
        for marker in found.get("flatMarkers", ()):
            markers.setdefault(marker["markerType"], []).append(marker)
    return markers


def check(client):
    """Returns what is the same in each format."""
    markers = shown_markers(client)
    processes = [marker["data"] for marker in markers["Process"]]
    expect_equal(sorted((data["argv"].split()[0], data["status"]) for data in processes),
                 sorted([("sh", "3"), ("sh", f"signal {int(signal.SIGKILL)} (KILL)"), ("true", "0"), ("sh", "4")]),
                 "the processes and how they ended")
    for marker in markers["Process"]:
        expect(0 < marker["data"]["maxRSS"] < 1 << 30, f"the peak memory of {marker}")
        expect(0 <= marker["data"]["cpu"] <= 1000, f"the CPU time of {marker}")
        expect(marker["duration"] > 0 and marker["start"] > 0, f"the times of {marker}")
        expect(marker["data"]["argv"] in marker["label"], f"the label of {marker}")
    expect(any(marker["data"]["argv"].startswith("sh") for marker in markers["Exec"]), f"the execs are {markers['Exec']}")
    return sorted((marker["name"], marker["start"], marker["duration"], sorted(marker["data"].items()))
                  for marker in markers["Process"])


def test_processes(test):
    """A raw capture becomes the same in both formats; reports do not mind."""
    recording = test.record("--rate", 10, "--", "sh", "-c", SCRIPT, output="p.gbpf")
    expect_equal(recording.wait(), 0, f"geckobpf's exit status: {recording.stderr}")
    shown = [check(test.client(convert(test, recording.path, name))) for name in ("gecko", "processed")]
    expect_equal(shown[1], shown[0], "the markers of both formats")


def test_recorded(test):
    """The recorder writes them as well."""
    recording = test.record("--rate", 10, "--", "sh", "-c", SCRIPT, output="p.json.gz")
    expect_equal(recording.wait(), 0, f"geckobpf's exit status: {recording.stderr}")
    check(test.client(recording.path))
