#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bench.py - what a recording costs, as a table: goal, ours, peer, ratio.

    make bench                          all of it, some seven minutes
    make bench BENCH='--quick'          a look, under two minutes; numbers of few samples
    make bench BENCH='stop file'        only the rows whose name contains one of these words

The peer is `perf record -g` with the same fixed period on the same running program, then `perf script --no-inline` (we
do not look up inlined functions either; one row says what that would take); for the bytes and the time of whole stacks it
is `perf record --call-graph dwarf,65528`, which copies stacks and unwinds them in perf script. Numbers are medians over
rounds; in each round ours and the peer's run one after the other, and the ratio is the median of the rounds' ratios. A
goal that is missed is marked, nothing more; what could not be measured has a row that says why, and the exit status is 1.

work.c is what gets profiled, micro.c, compress.c and capture.c run parts of geckobpf on their own, bpf_stats.c switches
the kernel's accounting of BPF programs on for one command. storage.py has the rows of the profile buffer, captures.py
those of what becomes of it, storm.py those of a machine under load, short.py those of
processes that are soon gone, apart.py those of readers and of attacks, workloads.py what is recorded.
"""

import argparse
import contextlib
import datetime
import glob
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import apart  # noqa: E402
import captures  # noqa: E402
import short  # noqa: E402
import storage  # noqa: E402
import storm  # noqa: E402
from profilers import (  # noqa: E402
    PATIENCE_S,
    PERF_SCRIPT_LIMIT_S,
    Geckobpf,
    GeckobpfCommand,
    Perf,
    PerfDwarf,
    Process,
    cpu_ns,
    read_until,
)
from table import FailedRow, Row, print_table  # noqa: E402
from workloads import write_big_source, write_heavy_source  # noqa: E402

MAX_RATE_FILE = "/proc/sys/kernel/perf_event_max_sample_rate"
# run, burn and start_thread are on the stack as well: 25 frames.
DEPTH = "22"
MILLION = 1_000_000


# ---- what is measured ------------------------------------------------------------------------------------------------
class Bench:
    def __init__(self, arguments):
        self.build, self.quick, self.names = arguments.build, arguments.quick, arguments.names
        self.rounds = arguments.rounds or (1 if self.quick else 3)
        self.geckobpf = os.path.join(self.build, "geckobpf")
        self.directory = tempfile.mkdtemp(prefix="geckobpf-bench-")
        self.running, self.streams = [], {}

    def helper(self, name):
        return os.path.join(self.build, "tests", "bench", name)

    def work(self, threads, paths, units=0):
        """work.c, ready."""
        process = Process([self.helper("work"), str(threads), DEPTH, str(paths), *([str(units)] if units else [])],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.running.append(process)
        read_until(process.popen.stdout, "ready")
        return process

    def numbers(self, program, *arguments):
        """What it printed, "name number" each: {name: [the rounds' numbers]}."""
        found = {}
        for _ in range(self.rounds):
            result = subprocess.run([self.helper(program), *map(str, arguments)], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=False)
            if result.returncode:
                raise RuntimeError(f"{program} {arguments[0]} exits {result.returncode}: {result.stderr}")
            for name, value in re.findall(r"^(\w+) ([\d.-]+)$", result.stderr, re.MULTILINE):
                found.setdefault(name, []).append(float(value))
        return found

    def micro(self, *arguments):
        return self.numbers("micro", *arguments)

    def profilers(self, pids, rate):
        """Ours and the peer, one after the other, each to be stopped by who asked."""
        yield Geckobpf(self, pids, rate)
        yield Perf(self, pids, rate)

    def pair(self, pids, rate, seconds):
        """One recording by each."""
        made = []
        for profiler in self.profilers(pids, rate):
            profiler.percent = profiler.cpu_percent(seconds)
            made.append(profiler.stop())
        return made

    def close(self):
        for process in reversed(self.running):
            process.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def measure_recording(bench):
    """1 kHz on two busy CPUs."""
    seconds = 3 if bench.quick else 4
    target = bench.work(2, 1000)
    made = [bench.pair([target.pid], 1000, seconds) for _ in range(bench.rounds)]
    target.close()
    yield Row("BPF per sample, ns", [ours.program_ns("on_timer") for ours, _ in made], digits=0)
    yield Row("recorder's CPU at 1 kHz on 2 CPUs, %", [ours.percent for ours, _ in made],
              [perf.percent for _, perf in made], goal=2, digits=2)


def measure_switches(bench):
    pipe = Process(["sh", "-c", "yes | cat > /dev/null & wait"])
    bench.running.append(pipe)
    made, rates = [], []
    for _ in range(bench.rounds):
        ours = Geckobpf(bench, [pipe.pid], 1000)
        time.sleep(0.5 if bench.quick else 1)
        made.append(ours.stop().program_ns("on_switch"))
        rates.append(ours.program_cost("on_switch")[0])
    pipe.close()
    yield Row("BPF per context switch, ns", made, digits=0, note=f"{statistics.median(rates):.0f} switches")


def fixed_work(bench, threads, units, profiler):
    """Nanoseconds (wall, CPU) that the same work takes under a profiler."""
    target = bench.work(threads, 1000, units)
    watcher = profiler(bench, [target.pid], 1000) if profiler else None
    target.popen.stdin.write(b"\n")
    target.popen.stdin.flush()
    said = read_until(target.popen.stdout, r"cpu_ns \d+\n")
    if watcher:
        watcher.close()
    target.close()
    return [int(number) for number in re.search(r"wall_ns (\d+) cpu_ns (\d+)", said).groups()]


def measure_slowdown(bench):
    """The same work alone, under geckobpf and under perf, in turns."""
    unit_count = 20_000 if bench.quick else 60_000
    for threads, where in ((1, "1 of 2 CPUs busy"), (2, "2 of 2 CPUs busy")):
        rounds = []
        for number in range(bench.rounds + (0 if bench.quick else 2)):
            order = (None, Geckobpf, Perf)[::-1 if number % 2 else 1]
            times = {profiler: fixed_work(bench, threads, unit_count, profiler) for profiler in order}
            rounds.append([times[None], times[Geckobpf], times[Perf]])
        for index, kind in enumerate(("wall time", "CPU time")):
            slower = [[100 * (run[index] / alone[index] - 1) for run in (ours, perf)] for alone, ours, perf in rounds]
            yield Row(f"slowdown of the target, {where}, {kind}, %", [ours for ours, _ in slower],
                      [perf for _, perf in slower], digits=2)


def measure_bytes(bench):
    """Bytes for a sample of 25 user frames, by how many stacks there are."""
    for paths, what in ((1, "1 stack"), (1000, "1000 stacks"), (0, "all different")):
        target = bench.work(2, paths)
        ours, perf = bench.pair([target.pid], 4000, 1 if bench.quick else 3)
        target.close()
        yield Row(f"buffer bytes per sample, {what}", [ours.log()["buffer_bytes_used"] / ours.samples],
                  [perf.size() / perf.samples], goal=200, note=f"{ours.samples} samples, before compression; file of both "
                  f"by the sample: {ours.size() / ours.samples:.1f} and {perf.size() / perf.samples:.1f}")


def measure_lost(bench):
    seconds = 2 if bench.quick else 5
    target = bench.work(2, 1000)
    made = []
    for _ in range(bench.rounds):
        pair = []
        for profiler in bench.profilers([target.pid], 10_000):
            begin_ns = cpu_ns(target.pid)
            time.sleep(seconds)
            profiler.used_ns = cpu_ns(target.pid) - begin_ns
            pair.append(profiler.stop())
        made.append(pair)
    target.close()
    shares = [[100 * profiler.samples / (profiler.used_ns / 1e5) for profiler in pair] for pair in made]
    yield Row(f"samples lost at 10 kHz on 2 CPUs in {seconds} s", [ours.lost for ours, _ in made],
              [perf.lost for _, perf in made], goal=0, digits=0, note=f"of {made[0][0].samples}")
    yield Row("samples for the target's CPU time at 10 kHz, %", [ours for ours, _ in shares], [perf for _, perf in shares],
              note=f"told as missed: {statistics.median(ours.missed_share for ours, _ in made):.1f} %")


def start_compiler(bench):
    source = os.path.join(bench.directory, "big.c")
    write_big_source(source)
    process = Process(["sh", "-c", f"while :; do clang -O2 -S -o /dev/null {source}; done"])
    bench.running.append(process)
    return process


def record_million(bench, targets, profiler, seconds):
    """The targets are stopped with the recording, so that the profiler has the machine for what it does then."""
    recording = profiler(bench, [target.pid for target in targets], 20_000)
    time.sleep(seconds)
    for target in targets:
        target.signal_group(signal.SIGSTOP)
    recording.stop()
    for target in targets:
        target.signal_group(signal.SIGCONT)
    return recording


def measure_million(bench):
    """20 kHz on 2 CPUs: one thread of deep stacks, and compilers, one after the other, with large libraries."""
    seconds = 5 if bench.quick else 26
    targets = [bench.work(1, 1000), start_compiler(bench)]
    ours = record_million(bench, targets, Geckobpf, seconds)
    perf = record_million(bench, targets, Perf, seconds)
    for target in targets:
        target.close()
    script = perf.script(bench) or perf.script(bench)
    scale, perf_scale = MILLION / ours.samples, MILLION / perf.samples
    note = f"from {ours.samples} and {perf.samples} samples"
    script_s = script_bytes = script_mb = ()
    if script:
        script_s, script_bytes = [(perf.ending.wall_s + script[0]) * perf_scale], [script[1] * perf_scale / 1e6]
        script_mb = [script[2]]
        note += f"; perf script did {100 * script[3]:.0f} % of them"
    else:
        note += "; perf script crashed"
    size_mb, ring_mb = [ours.size() * scale / 1e6], ours.log()["ring_bytes"] >> 20
    yield Row("stop to finished file, s per 1 M samples", [ours.ending.wall_s * scale], script_s, goal=2, digits=2,
              note=note)
    yield Row("  of that CPU time, s", [ours.ending.cpu_s * scale], digits=2)
    yield Row("peak memory until then, MB", [ours.ending.peak_mb], script_mb, goal=200,
              note=f"{ours.ending.anonymous_mb:.0f} MB of it ours alone; the ring of {ring_mb} MB counts twice; "
              "peer: perf script")
    yield Row("file, MB per 1 M samples, and perf.data", size_mb, [perf.size() * perf_scale / 1e6])
    yield Row("file, MB per 1 M samples, and perf script", size_mb, script_bytes)
    yield Row("samples lost at 20 kHz on 2 CPUs", [ours.lost], [perf.lost], digits=0, note=f"in {seconds} s")


def measure_start(bench):
    target = bench.work(1, 1)
    made = [[profiler.start_s * 1e3 for profiler in bench.pair([target.pid], 1000, 0.1)]
            for _ in range(bench.rounds + 2)]
    target.close()
    load = bench.micro("load")
    yield Row("start: from exec to samples, ms", [ours for ours, _ in made], [perf for _, perf in made], digits=0)
    yield Row("start: load the BPF programs, ms", load["load_ms"], goal=100)
    yield Row("start: attach them, ms", load["attach_ms"])


def measure_put(bench):
    for paths, what in ((1000, "1000 stacks of 25 frames"), (0, "all stacks different")):
        found = bench.micro("put", paths, 200_000)
        yield Row(f"put of a sample, {what}, ns", found["put_ns"], digits=0,
                  note=f"{statistics.median(found['sample_bytes']):.1f} bytes each")


def large_library():
    found = sorted(glob.glob("/usr/lib/*/libLLVM-*.so.1"), key=os.path.getsize)
    return found[-1] if found else None


def measure_write(bench):
    """A recording of 1 M samples becomes JSON; synthetic, so it does not wait for a recording."""
    library, rows = large_library(), MILLION // (5 if bench.quick else 1)
    if not library:
        return
    for path, what in (("-", "plain JSON"), (os.path.join(bench.directory, "micro.json.gz"), ".json.gz")):
        found = bench.micro("write", library, rows, path)
        size = statistics.median(found["out_bytes"]) / rows
        yield Row(f"write 1 M samples as {what}, CPU s", [value * MILLION / rows / 1e3 for value in found["cpu_ms"]],
                  digits=2, note=f"{size:.1f} bytes a row, {statistics.median(found['peak_mb']):.0f} MB peak")


def measure_symbols(bench):
    library = large_library()
    if library:
        found = bench.micro("symbols", library, 100_000)
        what = f"{os.path.basename(library)} ({os.path.getsize(library) >> 20} MB)"
        yield Row("symbols: read a large library, ms", found["load_ms"], note=what)
        yield Row("symbols: look up an address in it, ns", found["lookup_ns"], digits=0)
    yield Row("symbols: read the kernel's, ms", bench.micro("kallsyms")["cpu_ms"])


def measure_mappings(bench):
    found = bench.micro("mappings", 50_000)
    for name, what in (("add", "one more"), ("find", "look up an address"), ("fork", "fork, and one more")):
        yield Row(f"50,000 mappings: {what}, ns", found[f"{name}_ns"], digits=0)


def measure_lines(_):
    """With comments, without what bpftool made of the kernel's types."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    count = 0
    for room in ("bpf", "include", "user"):
        for path in glob.glob(os.path.join(root, room, "**", "*.[ch]"), recursive=True):
            with open(path, encoding="utf-8") as file:
                count += sum(1 for _ in file)
    yield Row("lines of product code", [count], digits=0)


def measure_hot(bench):
    """Nanoseconds (a frame, the rest of a sample) of a stack and tables that are in the caches."""
    test = os.path.join(bench.build, "tests", "bpf", "selftest")
    frame, rest = [], []
    for _ in range(3 if bench.quick else 5):
        said = subprocess.run([test, "--bench"], capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout
        found = {name: float(value) for name, value in re.findall(r"^(\w+) ([\d.-]+)$", said, re.MULTILINE)}
        frame.append(found["ns_per_frame"])
        rest.append(found["ns_20"] - 20 * found["ns_per_frame"])
    return frame, statistics.median(rest)


def complete_percent(ends):
    """Of the stacks that there were: a thread that exits has none any more."""
    return 100 * ends["complete"] / sum(count for end, count in ends.items() if not end.startswith("none"))


def measure_compiler(bench):
    """A C++ compiler, without frame pointers and with large libraries, from its first instruction at 1 kHz."""
    source = os.path.join(bench.directory, "heavy.cc")
    write_heavy_source(source)
    command = ["clang++", "-O2", "-c", source, "-o", os.path.join(bench.directory, "heavy.o")]
    hot, rest_ns = measure_hot(bench)
    runs = [(GeckobpfCommand(bench, command, 1000), PerfDwarf(bench, command)) for _ in range(bench.rounds)]
    cold, load, frames = [], [], 0
    for ours, _ in runs:
        used_ns, frames = ours.stacks()
        cold.append((ours.program_cost("on_timer")[1] / ours.log()["samples_captured"] - rest_ns) / frames)
        load.append(100 * ours.all_programs_ns() / used_ns)
    ends = ours.log()["user_stacks"]
    cut = {end: count for end, count in ends.items() if count and end != "complete"}
    yield Row("unwind: a frame, hot, ns", hot, goal=70)
    yield Row("unwind: a frame, C++ compiler at 1 kHz, ns", cold, goal=250,
              note=f"{frames:.0f} frames; {rest_ns:.0f} ns for the rest of a sample")
    yield Row("unwind: BPF programs for a busy CPU at 1 kHz, % of it", load, goal=1.2, digits=2)
    yield Row("unwind: complete stacks of a C++ compiler, %", [complete_percent(ours.log()["user_stacks"])
              for ours, _ in runs], goal=99.5, aim="at least", digits=2, note=f"others: {cut}" if cut else "")
    yield Row("unwind: recorded, MB, and perf.data with stack copies",
              [ours.log()["buffer_bytes_used"] / 1e6 for ours, _ in runs], [perf.size() / 1e6 for _, perf in runs],
              goal=0.01, aim="ratio", digits=2, note=f"{ours.samples} samples; file of {ours.size() / 1e6:.2f} MB")
    whole = [(ours.finish_s, perf.finish_s) for ours, perf in runs if perf.finish_s]
    yield Row("unwind: end of the target to finished file, s", [ours for ours, _ in whole] or [runs[0][0].finish_s],
              [perf for _, perf in whole], goal=0.5, aim="ratio", digits=2,
              note="with perf script --no-inline" if whole else "perf script crashed")
    inlined_s = runs[-1][1].script_s()
    stopped = inlined_s and inlined_s >= PERF_SCRIPT_LIMIT_S
    yield Row("unwind: end of the target to finished file, s, and inlined functions", [ours.finish_s for ours, _ in runs],
              [perf.record_s + inlined_s for _, perf in runs] if inlined_s else (), goal=0.3, digits=2,
              note=f"perf script{f', stopped after {inlined_s:.0f} s' if stopped else '' if inlined_s else ' crashed'}")


def program_files(name):
    """An executable and the libraries that it loads."""
    path = os.path.realpath(shutil.which(name))
    said = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    return [path, *sorted({os.path.realpath(found) for found in re.findall(r"(/\S+) \(0x", said)})]


def measure_tables(bench):
    files = program_files("clang++")
    library = max(files, key=os.path.getsize)
    found, all_found = bench.micro("tables", 31, library), bench.micro("tables", 3, *files)
    what = f"{os.path.basename(library)} ({os.path.getsize(library) >> 20} MB)"
    per_100 = [[100 * table / file for table, file in zip(made["table_mb"], made["file_mb"])]
               for made in (found, all_found)]
    yield Row("unwind: make the table of a large library, ms", found["compile_ms"], goal=15, note=what)
    yield Row("unwind: tables, MB per 100 MB of ELF", per_100[0], goal=3.5, digits=2,
              note=f"{what}; all files of clang++: {statistics.median(per_100[1]):.2f}")


def measure_undescribed(bench):
    """Programs with code that has no unwind information, by hand or by choice; those that are installed."""
    numbers, video = os.path.join(bench.directory, "numbers"), os.path.join(bench.directory, "video.yuv")
    with open(numbers, "w", encoding="ascii") as file:
        file.writelines(f"{number * 7919 % 1_000_003} word {number}\n" for number in range(400_000))
    with open(video, "wb") as file:
        file.write(os.urandom(20_000_000))
    programs = {
        "GMP (factor)": ["factor", "57896044618658097711785492504343953926634992332820282019728792003956564819949"],
        "busybox awk": ["busybox", "awk", "{ n += $1; gsub(/o/, \"0\") } END { print n }", numbers],
        "busybox sort": ["busybox", "sort", numbers],
        "busybox gzip": ["busybox", "gzip", "-c", numbers],
        "OpenSSL": ["openssl", "speed", "-seconds", "1", "-evp", "aes-256-gcm"],
        "x264": ["x264", "--threads", "1", "--input-res", "320x240", "--fps", "25", "-o", os.devnull, video],
    }
    for name, command in programs.items():
        if not shutil.which(command[0]):
            continue
        command = ["sh", "-c", 'timeout 3 "$@" >/dev/null 2>&1 || true', "sh", *command]
        runs = [GeckobpfCommand(bench, command, 1000).log()["user_stacks"] for _ in range(bench.rounds)]
        yield Row(f"unwind: complete stacks of {name}, %", [complete_percent(ends) for ends in runs], goal=98,
                  aim="at least", digits=2, note=f"{sum(runs[0].values())} samples")


# Words of the rows' names, so that a filter knows what need not be measured.
MEASUREMENTS = (
    (measure_recording, "BPF per sample recorder's CPU at 1 kHz"),
    (measure_switches, "BPF per context switch"),
    (measure_slowdown, "slowdown of the target"),
    (measure_bytes, "buffer bytes per sample"),
    (measure_lost, "samples lost samples for the target's CPU time at 10 kHz"),
    (measure_million, "stop to finished file peak memory file MB per 1 M samples lost at 20 kHz"),
    (storm.measure_storm, "storm of 2000 forks a second: samples lost events CPU of the recorder stop to last record "
     "finished file"),
    (short.measure_short, "CPU accounted of 1500 short processes at 1000 Hz, at 10 Hz"),
    (measure_start, "start: from exec load attach"),
    (measure_compiler, "unwind: a frame hot C++ compiler at 1 kHz BPF programs complete stacks recorded end of the "
     "target"),
    (measure_undescribed, "unwind: complete stacks of GMP busybox awk sort gzip OpenSSL x264"),
    (measure_tables, "unwind: make the table of a large library tables MB per 100 MB of ELF"),
    (measure_put, "put of a sample"),
    (storage.measure_put60, "put of a 60-byte entry"),
    (storage.measure_compiler_samples, "buffer: bytes per sample, C++ compiler, compressed samples that 8 MiB hold, C++ "
     "compilers, times raw records"),
    (storage.measure_redis_samples, "buffer: bytes per sample, redis, busy, compressed samples that 8 MiB hold, redis, "
     "busy, times raw records reading back, million entries/s"),
    (storage.measure_default_load, "buffer: bytes per sample, redis, default load, compressed"),
    (storage.measure_drain_and_compression, "buffer: drain and compression at 1 kHz on 2 compilers"),
    (storage.measure_stream, "stream: more CPU at 1 kHz on 2 compilers bytes per sample"),
    (captures.measure_rate, "capture: to JSON, million samples/s, repeating stacks new stacks"),
    (captures.measure_processed, "capture: to processed JSON, million samples/s, repeating all stacks new"),
    (captures.measure_client, "client: loads 1 M samples, processed, s MB"),
    (captures.measure_file, "capture: 5 M samples of 64 threads, stop to finished .json.gz"),
    (captures.measure_report, "capture: report of a .gbpf of 1 M samples"),
    (captures.measure_memory, "capture: extra memory, 1 M 5 M samples repeating all stacks new"),
    (captures.measure_tree, "capture: the same document through a tree of jansson's, memory time"),
    (measure_write, "write 1 M samples as plain JSON .json.gz"),
    (measure_symbols, "symbols: read a large library look up an address kernel's"),
    (measure_mappings, "50,000 mappings: one more look up an address fork, and one more"),
    (apart.measure_tables, "readers: tables of libLLVM and libclang-cpp"),
    (apart.measure_compiler, "readers: --all, a compiler: peak memory stop to finished file samples lost CPU of recorder"),
    (apart.measure_attacks, "readers: --all, all attacks and a compiler: peak memory stop to finished file samples lost CPU"),
    (measure_lines, "lines of product code"),
)


# ---- the run -------------------------------------------------------------------------------------------------------------
def is_wanted(names, text):
    return not names or any(name.lower() in text.lower() for name in names)


def busy_percent(seconds):
    """How busy the machine is with other things."""
    def read():
        with open("/proc/stat", encoding="ascii") as file:
            times = list(map(int, file.readline().split()[1:9]))
        return sum(times), times[3] + times[4]
    total, idle = read()
    time.sleep(seconds)
    total_after, idle_after = read()
    return 100 - 100 * (idle_after - idle) / max(total_after - total, 1)


def print_head(bench):
    perf = subprocess.run(["perf", "--version"], capture_output=True, text=True, check=False).stdout.strip()
    version = subprocess.run([bench.geckobpf, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    busy = busy_percent(1)
    print(f"{version} and {perf}; Linux {platform.release()} {platform.machine()}, {os.cpu_count()} CPUs, "
          f"{datetime.datetime.now():%Y-%m-%d %H:%M}, {bench.rounds} round{'s' if bench.rounds > 1 else ''}"
          f"{', quick' if bench.quick else ''}")
    if busy > 5:
        print(f"Other programs keep the machine {busy:.0f} % busy: wall times are not to be trusted.")
    print(flush=True)


def run(bench):
    rows, begin = [], time.monotonic()
    for measure, words in MEASUREMENTS:
        if not is_wanted(bench.names, words):
            continue
        print(f"bench: {measure.__name__.removeprefix('measure_')}", file=sys.stderr, flush=True)
        try:
            for row in measure(bench):
                rows += [row] if is_wanted(bench.names, row.name) else []
        except (RuntimeError, OSError, LookupError, subprocess.SubprocessError) as error:
            print(f"bench: {words}: {error}", file=sys.stderr)
            rows.append(FailedRow(measure.__name__.removeprefix("measure_"), repr(error)))
    print_table(rows)
    verdicts = [row.verdict() for row in rows]
    print(f"\n{time.monotonic() - begin:.0f} s; goals missed: {verdicts.count('MISSED')}; "
          f"not measured: {verdicts.count('FAILED')}")
    return "FAILED" not in verdicts


@contextlib.contextmanager
def same_sample_rate():
    """The kernel lowers its limit when sampling costs too much; whoever comes after us shall not notice."""
    with open(MAX_RATE_FILE, encoding="ascii") as file:
        before = file.read()
    try:
        yield
    finally:
        with open(MAX_RATE_FILE, encoding="ascii") as file:
            after = file.read()
        if after != before:
            print(f"The kernel lowered perf_event_max_sample_rate from {before.strip()} to {after.strip()}: it was "
                  "too busy. It is set back.")
            with contextlib.suppress(OSError), open(MAX_RATE_FILE, "w", encoding="ascii") as file:
                file.write(before)


def main():
    parser = argparse.ArgumentParser(description="What a recording costs: goal, ours, peer, ratio.")
    parser.add_argument("--build", default="build", help="where make put the programs")
    parser.add_argument("--quick", action="store_true", help="less than two minutes; rough")
    parser.add_argument("--rounds", type=int, help="how often each thing is measured (default 3)")
    parser.add_argument("names", nargs="*", help="only rows whose name contains one of these")
    arguments = parser.parse_args()
    if os.geteuid():
        sys.exit("bench: must be root: BPF programs are loaded")
    if not shutil.which("perf"):
        sys.exit("bench: there is no perf; run: ci/deps.sh bench")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    bench = Bench(arguments)
    try:
        with same_sample_rate():
            print_head(bench)
            is_whole = run(bench)
    finally:
        bench.close()
    sys.exit(0 if is_whole else 1)


if __name__ == "__main__":
    main()
