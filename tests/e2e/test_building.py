# SPDX-License-Identifier: BSD-2-Clause
"""What is built, by whom, and with what, works or says what it lacks."""

import glob
import os
import re

from harness import expect

WANTED_SAMPLES = 20


def record_hot(test, program, output):
    """Records a known target with this program, half a second long; returns the number of its samples."""
    target = test.start_target("hot")
    run = test.start([program, "--pid", target.pid, "--duration", "0.5", "-o", output])
    status = run.wait()
    expect(status == 0, f"{program} exits {status}: {run.stderr!r}")
    return int(re.search(r": (\d+) samples of ", run.stderr).group(1))


def test_every_clang(test):
    """`make e2e` has built one for each of the group clangs in ci/packages.txt."""
    programs = sorted(glob.glob(os.path.join(test.build, "clang-*", "geckobpf")))
    expect(programs, f"no program of another clang in {test.build}; run: make e2e")
    for program in programs:
        samples = record_hot(test, program, "hot.json")
        expect(samples >= WANTED_SAMPLES, f"{samples} samples by {program}")
