# SPDX-License-Identifier: BSD-2-Clause
"""apart.py - the rows of what it costs that files of targets are looked at by other processes; and of a machine on which all
attacks of tests/soak run at once. Memory is that of the recorder and its readers."""

import glob
import os
import sys
import time

from profilers import Geckobpf
from table import Row
from workloads import start_compiler_loop

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARIES = ("libLLVM-14.so.1", "libclang-cpp.so.14")
TABLES_GOAL = 1.2
BUFFER_MB = 128 * 1.048576
MEMORY_GOAL_MB = 256 + BUFFER_MB
SAVING_GOAL_S = 10


def measure_tables(bench):
    """From request to table, as at the start of a recording of clang."""
    files = [found[0] for name in LIBRARIES if (found := glob.glob(f"/usr/lib/*/{name}"))]
    if len(files) < len(LIBRARIES):
        return
    found = bench.numbers("apart", 7, *files)
    yield Row("readers: tables of libLLVM and libclang-cpp, ms", found["parsers_ms"], found["here_ms"], goal=TABLES_GOAL,
              aim="ratio", note="in place of perf: one after the other in one process")


def record_all(bench, seconds):
    ours = Geckobpf(bench, None, 1000, options=("--ring",), name="apart")
    ours.percent = ours.cpu_percent(seconds)
    return ours.stop()


def rows(what, made):
    yield Row(f"readers: --all, {what}: peak memory, MB", [ours.ending.peak_mb for ours in made], goal=MEMORY_GOAL_MB,
              digits=0, note=f"{max(ours.ending.anonymous_mb for ours in made):.0f} MB of it no file; a buffer of 128 MiB")
    yield Row(f"readers: --all, {what}: stop to finished file, s", [ours.ending.wall_s for ours in made], goal=SAVING_GOAL_S,
              digits=2, note=f"{made[0].samples} samples")
    yield Row(f"readers: --all, {what}: samples lost", [ours.lost for ours in made], goal=0, digits=0)
    yield Row(f"readers: --all, {what}: CPU of recorder and readers, %", [ours.percent for ours in made])


def measure_compiler(bench):
    compiler = start_compiler_loop(bench)
    made = [record_all(bench, 3 if bench.quick else 15) for _ in range(bench.rounds)]
    compiler.close()
    yield from rows("a compiler", made)


def measure_attacks(bench):
    sys.path[:0] = [os.path.join(TESTS, "e2e"), os.path.join(TESTS, "soak")]
    import harness  # pylint: disable=import-outside-toplevel
    import soak_hostile  # pylint: disable=import-outside-toplevel
    test = harness.Test("bench-attacks", os.path.abspath(bench.build))
    try:
        soak_hostile.start_all(test)
        compiler = start_compiler_loop(bench)
        time.sleep(1)
        made = [record_all(bench, 5 if bench.quick else 30) for _ in range(bench.rounds)]
        compiler.close()
    finally:
        test.close()
    yield from rows("all attacks and a compiler", made)
