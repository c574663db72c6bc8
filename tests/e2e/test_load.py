# SPDX-License-Identifier: BSD-2-Clause
"""A recorder that falls behind ends when it is told to, and says what it left out."""

import os
import re

from harness import expect, expect_equal, wait_until
from test_failures import failing

BESIDE_OTHERS = True

RATE_HZ = 4000
RECORD_US = 5000  # what it takes to take in a record: there are more of them than that
RECORD_BYTES = 100  # it is longer
PATIENCE_S = 40


def record_slowly(test, *arguments):
    """A recording of a program whose samples come faster than they are taken in; and the file that is slow."""
    target = test.start_target("hot")
    path = os.path.join(test.make_directory("slow"), "records")
    env = failing(test, path, 1 << 60, 0, RECORD_US)
    return test.record_running("--pid", target.pid, "--rate", RATE_HZ, "--dump-records", path, *arguments, env=env), path


def expect_left_out(recording, profile):
    found = re.search(r"(\d+\.\d) s behind: the last \1 s of the recording were left out \((\d+) samples", recording.stderr)
    expect(found, f"it does not say that it left out anything: {recording.stderr}")
    log = profile.log()
    expect_equal(int(found.group(2)), log["samples_left_out_at_end"], "the samples said to be left out")
    expect_equal(log["samples_recorded"] + log["samples_left_out_at_end"], log["samples_captured"],
                 "samples that are in the profile or were left out")
    expect(log["samples_recorded"] > 0, "there is nothing in the profile")
    expect(f"{log['behind_at_end_ns'] / 1e9:.1f}" == found.group(1), "the profile tells another time than the summary")


def test_the_duration_holds(test):
    recording, _ = record_slowly(test, "--duration", 1)
    expect_left_out(recording, recording.finish(patience_s=PATIENCE_S))


def test_ctrl_c_is_heard(test):
    recording, path = record_slowly(test)
    wait_until(lambda: os.path.getsize(path) > 200 * RECORD_BYTES, "records")
    expect_left_out(recording, recording.stop())
