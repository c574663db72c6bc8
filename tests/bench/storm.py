# SPDX-License-Identifier: BSD-2-Clause
"""storm.py - the rows of a storm: the whole machine is recorded while 2,000 children are forked a second, each of which
executes another program, and loops keep all CPUs busy besides."""

import os
import subprocess

from profilers import Geckobpf, Process, read_until
from table import Row

FORKS_A_SECOND = 2000
RATE_HZ = 997
LOOPS_A_CPU = 4
LOOP = ["sh", "-c", "while :; do :; done"]


def start_storm(bench):
    path = os.path.join(bench.build, "tests", "targets", "storm")
    processes = [Process([path, str(FORKS_A_SECOND), "0", "/bin/true"], stdout=subprocess.PIPE)]
    processes += [Process(LOOP) for _ in range(LOOPS_A_CPU * os.cpu_count())]
    bench.running += processes
    read_until(processes[0].popen.stdout, "ready")
    return processes


def record_storm(bench, seconds):
    processes = start_storm(bench)
    ours = Geckobpf(bench, None, RATE_HZ)
    ours.percent = ours.cpu_percent(seconds)
    ours.stop()
    for process in processes:
        process.close()
    return ours


def measure_storm(bench):
    seconds = 3 if bench.quick else 10
    made = [record_storm(bench, seconds) for _ in range(bench.rounds)]
    what = f"storm of {FORKS_A_SECOND} forks a second, {seconds} s: "
    yield Row(what + "samples lost", [ours.lost for ours in made], goal=0, digits=0, note=f"of {made[0].samples}")
    yield Row(what + "events lost", [ours.log()["events_lost_ring_full"] for ours in made], goal=0, digits=0)
    yield Row(what + "CPU of the recorder, %", [ours.percent for ours in made])
    yield Row(what + "stop to last record, s", [ours.phase_s("collecting") for ours in made], goal=2, digits=3)
    yield Row(what + "stop to finished file, s", [ours.ending.wall_s for ours in made], digits=2)
