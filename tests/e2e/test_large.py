# SPDX-License-Identifier: BSD-2-Clause
"""Large captures: five million samples, which tests/bench/capture.c puts into the buffer as a recording does."""

import collections
import json
import os
import re

from harness import PYTHON, expect, expect_equal, read_profile_bytes

BESIDE_OTHERS = True

SAMPLES, THREADS, PROCESSES, STACKS = 5_000_000, 64, 4, 1000
EXTRA_MB = 64
# Tells the peak of a program's memory. That of who starts it counts as well, hence something small.
WITH_PEAK = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
print("peak_kb", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""


def make_capture(test, path):
    """What the program says of it: {name: number}, and some samples {tid: {row: nanoseconds since the start}}."""
    program = os.path.join(test.build, "tests", "bench", "capture")
    expect(os.path.exists(program), f"there is no {program}; run: make e2e")
    made = test.start([program, "raw", PROCESSES, THREADS, STACKS, SAMPLES, path])
    expect_equal(made.wait(60), 0, "the exit status of capture")
    spots = collections.defaultdict(dict)
    for tid, row, time_ns in re.findall(r"^spot (\d+) (\d+) (\d+)$", made.stderr, re.MULTILINE):
        spots[int(tid)][int(row)] = int(time_ns)
    return dict(re.findall(r"^(\w+) (\d+)\.\d+$", made.stderr, re.MULTILINE)), spots


def convert(test, path, output):
    """Returns the peak of its memory in bytes."""
    converting = test.start([PYTHON, "-c", WITH_PEAK, test.geckobpf, "convert", path, "-o", output])
    expect_equal(converting.wait(120), 0, f"the exit status of convert: {converting.stderr}")
    return int(converting.wait_for(r"peak_kb (\d+)").group(1)) * 1024


def check_thread(thread, spots):
    """All samples, each at its time to the nanosecond."""
    rows = thread["samples"]["data"]
    expect_equal([column for column, _ in sorted(thread["samples"]["schema"].items(), key=lambda item: item[1])],
                 ["stack", "time", "eventDelay", "threadCPUDelta"], "the columns of samples")
    expect_equal(len(rows), SAMPLES // THREADS, f"the number of samples of thread {thread['tid']}")
    expect(all(row[0] is not None for row in rows), f"thread {thread['tid']} has rows without a stack")
    expect_equal(len({row[0] for row in rows}), STACKS, f"the number of stacks of thread {thread['tid']}")
    expect(spots, f"no sample of thread {thread['tid']} is known")
    for row, time_ns in spots.items():
        expect_equal(rows[row][1], time_ns / 1e6, f"the time of sample {row} of thread {thread['tid']}")


def test_five_million_samples(test):
    """Memory is bounded, all samples are there, and the client loads them."""
    directory = test.make_directory("large")
    path, output = os.path.join(directory, "large.gbpf"), os.path.join(directory, "large.json.gz")
    said, spots = make_capture(test, path)
    peak = convert(test, path, output)
    # Beyond the entries: everything that convert has, its code included.
    extra_mb = (peak - int(said["buffer_bytes"])) / (1 << 20)
    expect(extra_mb <= EXTRA_MB, f"convert took {extra_mb:.1f} MB beyond the {said['buffer_bytes']} bytes of entries")
    profile = json.loads(read_profile_bytes(output))
    expect_equal(len(profile["processes"]), PROCESSES, "the number of processes")
    threads = [thread for process in profile["processes"] for thread in process["threads"]]
    expect_equal(sorted(thread["tid"] for thread in threads), sorted(spots), "the threads")
    for thread in threads:
        check_thread(thread, spots[thread["tid"]])
    del profile, threads
    client = test.client(output)
    expect_equal(len(client.threads()), THREADS, "the number of threads that the client shows")
    handle = client.handle(min(spots))
    total = sum(function["selfSamples"] for function in client.functions(handle))
    expect_equal(total, SAMPLES // THREADS, "the samples that the client counts")
