# SPDX-License-Identifier: BSD-2-Clause
"""storage.py - the rows of the profile buffer: what a put takes, how small samples are, how many fit, how soon they are
back.

Streams of records are made once (--dump-records) and put into buffers by micro.c and compress.c:

    compiler   a C++ compiler from its first instruction to its end: deep stacks, hardly one twice
    redis      a server that is kept busy: stacks repeat
    default    a server under redis-benchmark's default load: it sleeps and wakes between samples, and when cannot be
               foretold
"""

import os
import statistics
import subprocess
import time

from profilers import Geckobpf, Process, profiler_cpu_ns, wait_for_command
from table import Row
from workloads import BUSY_LOAD, DEFAULT_LOAD, Redis, start_compiler_loop, write_heavy_source

LIMIT_MIB = 8
SETTLE_S = 2


# ---- streams ---------------------------------------------------------------------------------------------------------
def record_compiler(bench, path):
    source = os.path.join(bench.directory, "heavy.cc")
    write_heavy_source(source)
    process = Process([bench.geckobpf, "--rate", "1000", "--dump-records", path, "--output", path + ".json.gz", "--",
                       "clang++", "-O2", "-c", source, "-o", "/dev/null"], stderr=subprocess.PIPE)
    bench.running.append(process)
    wait_for_command(process)


def record_redis(bench, path, load, tcp):
    redis = Redis(bench, load, tcp)
    time.sleep(1)
    recording = Geckobpf(bench, [redis.server.pid], 1000, options=("--dump-records", path))
    time.sleep(5 if bench.quick else 20)
    redis.check()
    recording.stop()
    redis.close()


def stream(bench, name):
    """The file, made once."""
    if name not in bench.streams:
        path = os.path.join(bench.directory, f"{name}.records")
        if name == "compiler":
            record_compiler(bench, path)
        else:
            record_redis(bench, path, *{"redis": (BUSY_LOAD, False), "default": (DEFAULT_LOAD, True)}[name])
        bench.streams[name] = path
    return bench.streams[name]


def goal_of(bench, goal):
    """None for a look: a short stream does not fill a chunk."""
    return None if bench.quick else goal


# ---- rows ------------------------------------------------------------------------------------------------------------
def measure_put60(bench):
    found = bench.micro("put60", 10_000_000 if bench.quick else 40_000_000)
    fresh_ns = statistics.median(found["put60_fresh_ns"])
    yield Row("put of a 60-byte entry, ns", found["put60_reused_ns"], goal=25,
              note=f"memory used again; touched for the first time: {fresh_ns:.0f} ns")


def size_rows(bench, name, what, goals=(None, None)):
    """Bytes of a sample, as it is put and in a finished chunk."""
    path = stream(bench, name)
    put, packed = bench.micro("buffer", path), bench.numbers("compress", path)
    yield Row(f"buffer: bytes per sample, {what}", put["sample_bytes"], goal=goals[0],
              note=f"{statistics.median(put['record_bytes']):.0f} as it comes; put in "
              f"{statistics.median(put['put_ns']):.0f} ns")
    yield Row(f"buffer: bytes per sample, {what}, compressed", packed["compressed_sample_bytes"], goal=goals[1],
              note=f"{statistics.median(packed['compress_mb_s']):.0f} MB/s, back "
              f"{statistics.median(packed['expand_mb_s']):.0f} MB/s")


def hold_row(bench, name, what, kind, goal):
    """How many samples there are in a buffer that overwrites, for each record that the same memory would have."""
    path = stream(bench, name)
    held, record_bytes = bench.micro("hold", kind, LIMIT_MIB, path), bench.micro("buffer", path)["record_bytes"]
    raw = (LIMIT_MIB << 20) / statistics.median(record_bytes)
    samples = held["held_samples"]
    return Row(f"buffer: samples that {LIMIT_MIB} MiB hold, {what}, times raw records",
               [count / raw for count in samples], goal=goal, aim="at least",
               note=f"{statistics.median(samples):.0f} and {raw:.0f}")


def measure_compiler_samples(bench):
    yield from size_rows(bench, "compiler", "C++ compiler", (60, 24))
    yield hold_row(bench, "compiler", "C++ compilers", "new", 20)


def measure_redis_samples(bench):
    yield from size_rows(bench, "redis", "redis, busy", (14, goal_of(bench, 5)))
    yield hold_row(bench, "redis", "redis, busy", "same", goal_of(bench, 60))
    back = {name: bench.micro("buffer", stream(bench, name))["read_million_per_s"] for name in ("redis", "compiler")}
    yield Row("buffer: reading back, million entries/s", back["redis"], goal=20, aim="at least",
              note=f"redis; the compiler's: {statistics.median(back['compiler']):.1f}")


def measure_default_load(bench):
    yield from size_rows(bench, "default", "redis, default load")


def measure_drain_and_compression(bench):
    """Compilers come and go on both CPUs."""
    made, compressing = [], []
    targets = [start_compiler_loop(bench) for _ in range(2)]
    for _ in range(bench.rounds):
        begin = time.monotonic()
        ours = Geckobpf(bench, [target.pid for target in targets], 1000)
        time.sleep(SETTLE_S)  # the tables of a compiler's libraries are made once
        made.append(ours.cpu_percent(4 if bench.quick else 10))
        ours.stop()
        compressing.append(ours.log()["buffer_compression_cpu_ns"] / 1e7 / (time.monotonic() - begin))
    for target in targets:
        target.close()
    yield Row("buffer: drain and compression at 1 kHz on 2 compilers, %", made, goal=1.5, digits=2,
              note=f"{statistics.median(compressing):.2f} of it compression; files of new processes are read as well")


def measure_stream(bench):
    """Two recordings beside each other, of which one streams, of compilers on both CPUs."""
    path = os.path.join(bench.directory, "ours.gbpf")
    more, sizes = [], []
    targets = [start_compiler_loop(bench) for _ in range(2)]
    for _ in range(bench.rounds):
        pids = [target.pid for target in targets]
        recordings = [Geckobpf(bench, pids, 1000), Geckobpf(bench, pids, 1000, ("--stream", path), "streaming")]
        started = time.monotonic()
        time.sleep(SETTLE_S)  # the kernel's symbols and the files of a compiler are written once
        begin_ns = [profiler_cpu_ns(ours.process.pid) for ours in recordings]
        begin, size = time.monotonic(), os.path.getsize(path)
        time.sleep(4 if bench.quick else 10)
        plain, streaming = (profiler_cpu_ns(ours.process.pid) - ns for ours, ns in zip(recordings, begin_ns))
        seconds, size = time.monotonic() - begin, os.path.getsize(path) - size
        more.append((streaming - plain) / 1e7 / seconds)
        lasted = time.monotonic() - started
        for ours in recordings:
            ours.stop()
        # Both CPUs are busy all the time.
        sizes.append(size / (recordings[1].samples * seconds / lasted))
        os.remove(path)
    for target in targets:
        target.close()
    yield Row("stream: more CPU at 1 kHz on 2 compilers, %", more, digits=2)
    yield Row("stream: bytes per sample", sizes, note="new processes and their files among them")
