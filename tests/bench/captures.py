# SPDX-License-Identifier: BSD-2-Clause
"""captures.py - the rows of what becomes of a buffer: how fast the profile of a large recording is written, and what
memory that takes.

capture.c makes the recordings, of one process (made.h says what is in them). Stacks are 25 frames deep; they repeat, and
there are 1000 of them, or no thread has one twice, and then 4 of its frames are not those of the one before it. Memory is
what is above the recording itself.
"""

import os
import statistics

from table import Row

MILLION = 1_000_000
STACKS = 1000
THREADS = 64


def capture(bench, what, threads, stacks, samples, *rest):
    return bench.numbers("capture", what, 1, threads, stacks, samples, *rest)


def large(bench, million):
    return million * MILLION // (5 if bench.quick else 1)


def measure_rate(bench):
    """Before compression; CPU time of the one thread that writes."""
    for threads, who in ((1, "1 thread"), (THREADS, f"{THREADS} threads")):
        for stacks, what, goal in ((STACKS, "repeating stacks", 5), (0, "all stacks new", 1)):
            found = capture(bench, "json", threads, stacks, large(bench, 5 if stacks else 1))
            yield Row(f"capture: to JSON, million samples/s, {what}, {who}", found["million_per_s"], goal=goal,
                      aim="at least", digits=2, note=f"{statistics.median(found['sample_bytes']):.0f} bytes each")


def measure_file(bench):
    path, count = os.path.join(bench.directory, "large.json.gz"), large(bench, 5)
    found = capture(bench, "file", THREADS, STACKS, count, path)
    scale = 5 * MILLION / count
    size, cpu_s = [statistics.median(found[name]) for name in ("out_bytes", "cpu_s")]
    yield Row(f"capture: 5 M samples of {THREADS} threads, stop to finished .json.gz, s",
              [value * scale for value in found["wall_s"]], goal=4, digits=2,
              note=f"{size / count:.1f} bytes a sample; {cpu_s * scale:.2f} s of CPU time")


def measure_memory(bench):
    path = os.path.join(bench.directory, "memory.json.gz")
    for million, stacks in ((1, STACKS), (5, STACKS), (1, 0)):
        what = "repeating stacks" if stacks else "all stacks new"
        count = large(bench, million)
        found = capture(bench, "file", THREADS, stacks, count, path)
        yield Row(f"capture: extra memory, {count / MILLION:g} M samples of {THREADS} threads, {what}, MB", found["extra_mb"],
                  goal=64,
                  note=f"the recording: {statistics.median(found['recording_mb']):.0f} MB")


def measure_tree(bench):
    """The peer is jansson, and the tree's values are there already: how they came about is not in its time."""
    count = large(bench, 1)
    ours, tree = [capture(bench, what, THREADS, STACKS, count) for what in ("json", "dom")]
    yield Row("capture: to JSON, CPU s per 1 M samples; peer: a tree of jansson's",
              *([value * MILLION / count for value in made["cpu_s"]] for made in (ours, tree)), digits=2)
    yield Row("capture: memory for that, MB; peer: a tree of jansson's", ours["extra_mb"], tree["extra_mb"])
