# SPDX-License-Identifier: BSD-2-Clause
"""captures.py - the rows of what becomes of a buffer: how fast the profile of a large recording is written, and what
memory that takes.

capture.c makes the recordings, of one process (made.h says what is in them). Stacks are 25 frames deep; they repeat, and
there are 1000 of them, or no thread has one twice, and then 4 of its frames are not those of the one before it. Memory is
what is above the recording itself.
"""

import glob
import json
import os
import re
import signal
import statistics
import subprocess
import tempfile
import time

from table import Row

MILLION = 1_000_000
STACKS = 1000
THREADS = 64
PROCESSES, PROCESS_THREADS = 800, 2200


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


def measure_processed(bench):
    """The peer is the Gecko format. Before compression; CPU time of the one thread that writes."""
    for threads, who in ((1, "1 thread"), (THREADS, f"{THREADS} threads")):
        for stacks, what in ((STACKS, "repeating stacks"), (0, "all stacks new")):
            count = large(bench, 5 if stacks else 1)
            ours, gecko = [capture(bench, name, threads, stacks, count) for name in ("processed", "json")]
            yield Row(f"capture: to processed JSON, million samples/s, {what}, {who}; peer: to Gecko", ours["million_per_s"],
                      gecko["million_per_s"], digits=2,
                      note=f"{statistics.median(ours['sample_bytes']):.0f} bytes each; "
                           f"Gecko: {statistics.median(gecko['sample_bytes']):.0f}")


# ---- the real client -------------------------------------------------------------------------------------------------
def client_command():
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "ci", "client.sh")
    return subprocess.run([script], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def load(command, path):
    """Seconds until it is loaded, and the most memory that took, MB. The client gives its own daemon half a second to start,
    which a busy machine may miss: then it is tried again."""
    for _ in range(5):
        with tempfile.TemporaryDirectory() as directory:
            env = {**os.environ, "PROFILER_CLI_SESSION_DIR": directory, "PROFILER_CLI_NO_SYMBOLICATE": "1"}
            begin = time.monotonic()
            done = subprocess.run([command, "load", path, "--session", "s"], capture_output=True, text=True, env=env,
                                  timeout=300, check=False)
            seconds = time.monotonic() - begin
            if not done.returncode:
                with open(glob.glob(os.path.join(directory, "*.json"))[0], encoding="utf-8") as file:
                    pid = json.load(file)["pid"]
                with open(f"/proc/{pid}/status", encoding="ascii") as file:
                    peak_kb = int(re.search(r"VmHWM:\s*(\d+)", file.read()).group(1))
                subprocess.run([command, "stop", "s"], capture_output=True, env=env, timeout=60, check=False)
                return seconds, peak_kb / 1000
            late = re.search(r"as pid (\d+)", done.stderr)
            if not late:
                break
            os.kill(int(late.group(1)), signal.SIGKILL)
    raise RuntimeError(f"profiler-cli load exits {done.returncode}: {done.stderr}")


def measure_client(bench):
    """As a recording of all processes of a machine; the peer is the Gecko format."""
    command, count, found = client_command(), large(bench, 1), {}
    for name, what in (("processed", "processed"), ("gecko", "file")):
        path = os.path.join(bench.directory, f"{name}.json.gz")
        bench.numbers("capture", what, PROCESSES, PROCESS_THREADS, STACKS, count, path)
        found[name] = [load(command, path) for _ in range(bench.rounds)]
        os.unlink(path)
    for index, (what, goal) in enumerate((("s", 8), ("MB", None))):
        ours, gecko = [[loaded[index] for loaded in found[name]] for name in ("processed", "gecko")]
        yield Row(f"client: loads {count / MILLION:g} M samples of {PROCESS_THREADS} threads, processed, {what}; peer: Gecko",
                  ours, gecko, goal=goal)


def measure_file(bench):
    path, count = os.path.join(bench.directory, "large.json.gz"), large(bench, 5)
    found = capture(bench, "file", THREADS, STACKS, count, path)
    scale = 5 * MILLION / count
    size, cpu_s = [statistics.median(found[name]) for name in ("out_bytes", "cpu_s")]
    yield Row(f"capture: 5 M samples of {THREADS} threads, stop to finished .json.gz, s",
              [value * scale for value in found["wall_s"]], goal=4, digits=2,
              note=f"{size / count:.1f} bytes a sample; {cpu_s * scale:.2f} s of CPU time")


def run_report(bench, path):
    """Seconds."""
    begin = time.monotonic()
    subprocess.run([bench.geckobpf, "report", path], stdout=subprocess.DEVNULL, timeout=300, check=True)
    return time.monotonic() - begin


def measure_report(bench):
    path, count = os.path.join(bench.directory, "large.gbpf"), large(bench, 1)
    capture(bench, "raw", THREADS, STACKS, count, path)
    yield Row(f"capture: report of a .gbpf of {count / MILLION:g} M samples of {THREADS} threads, s",
              [run_report(bench, path) for _ in range(bench.rounds)], goal=1, digits=2)


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
