# SPDX-License-Identifier: BSD-2-Clause
"""Who opens and parses what targets map: other processes, that may be killed at any time without a loss."""

import os
import random
import re
import select
import signal
import struct
import subprocess

from harness import alone, children, comm, expect, expect_equal, is_reader, kill

KILLS = 500
NOTE = struct.pack("<III", 4, 20, 3) + b"GNU\0"


def make_program(path, original):
    """Another file for everybody: it has a build id of its own."""
    at = original.index(NOTE) + len(NOTE)
    with open(path, "wb") as file:
        file.write(original[:at] + random.randbytes(20) + original[at + 20:])
    os.chmod(path, 0o755)


def readers(recording):
    return [pid for pid in children(recording.pid) if is_reader(pid)]


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return dict(re.findall(r"(\w+):\t(.*)", file.read()))


@alone
def test_killed_at_any_time(test):
    with open(test.target("bare"), "rb") as file:
        original = file.read()
    hot = test.start_target("hot")
    recording = test.record_running("--all", "-v")
    killed = 0
    while killed < KILLS:
        path = os.path.join(test.directory, f"program-{killed}")
        make_program(path, original)
        program = subprocess.Popen([path, "0.02"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        select.select([], [], [], random.random() / 50)
        for pid in readers(recording):
            kill(pid, signal.SIGKILL)
            killed += 1
        program.kill()
        program.wait()
        os.remove(path)
    profile = recording.stop()
    log = profile.log()
    for name in ("samples_lost_ring_full", "samples_lost_recursion", "samples_lost_buffer", "records_bad"):
        expect_equal(log[name], 0, name)
    samples = profile.main_thread(hot.pid).self_samples(user=True)
    named = sum(count for name, count in samples.items() if not name.startswith("0x"))
    expect(named > 0.95 * sum(samples.values()), f"names of the target that goes on: {samples}")


@alone
def test_what_they_may_do(test):
    hot = test.start_target("hot")
    recording = test.record_running("--pid", hot.pid)
    found = {comm(pid): status_of(pid) for pid in readers(recording)}
    recording.stop()
    expect_equal(sorted(found), ["geckobpf-opener", "geckobpf-parser"], "the readers of a recording")
    parser, opener = found["geckobpf-parser"], found["geckobpf-opener"]
    expect_equal(int(parser["CapPrm"], 16), 0, "the capabilities of who parses")
    expect_equal(parser["Seccomp"], "2", "the seccomp mode of who parses")
    expect_equal(parser["NoNewPrivs"], "1", "whether who parses may get privileges")
    expect_equal(int(opener["CapPrm"], 16) & ~(1 << 19 | 1 << 2 | 1 << 40), 0, "the capabilities of who opens")
