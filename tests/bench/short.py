# SPDX-License-Identifier: BSD-2-Clause
"""short.py - the rows of short processes: how much of the CPU time that they used is in the profile, though most of
them were gone before a sample came."""

import gzip
import json
import os

from profilers import GeckobpfCommand
from table import Row

COUNT = 1500
RATES_HZ = (1000, 10)
# Writes down what its children used, in ns.
PARENT = """
import resource, subprocess, sys
subprocess.run(sys.argv[2:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write(str(int((used.ru_utime + used.ru_stime) * 1e9)))
"""


def counted_ns(path):
    """In the profile, of all processes but the first."""
    with gzip.open(path) as file:
        threads = [thread for process in json.load(file)["processes"] for thread in process["threads"]]
    own = str(threads[0]["pid"]).split(".", maxsplit=1)[0]
    return sum(row[3] or 0 for thread in threads if str(thread["pid"]).split(".", maxsplit=1)[0] != own
               for row in thread["samples"]["data"])


def accounted_percent(bench, rate):
    truth = os.path.join(bench.directory, "used")
    ours = GeckobpfCommand(bench, ["/usr/bin/python3", "-c", PARENT, truth, "bash", "-c",
                                   f"for i in $(seq {COUNT}); do /bin/true; done"], rate)
    with open(truth, encoding="ascii") as file:
        return 100 * counted_ns(ours.path) / int(file.read())


def measure_short(bench):
    for rate in RATES_HZ:
        yield Row(f"CPU accounted of {COUNT} short processes at {rate} Hz, %",
                  [accounted_percent(bench, rate) for _ in range(bench.rounds)], goal=99, aim="at least")
