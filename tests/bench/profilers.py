# SPDX-License-Identifier: BSD-2-Clause
"""profilers.py - programs that the benchmark starts, among them the two that are compared.

Process    a program in a process group of its own
Geckobpf   a recording of ours    } start_s: from exec to flowing samples; stop() ends it as Ctrl-C does;
Perf       one of perf record     } then samples, lost, size(), ending.wall_s, .cpu_s, .peak_mb

Recordings of a command, from its first instruction to its end; finish_s is from there to the finished file:
GeckobpfCommand, and PerfDwarf, which copies stacks and has perf script unwind them
"""

import contextlib
import glob
import gzip
import json
import mmap
import os
import re
import select
import signal
import struct
import subprocess
import time

PATIENCE_S = 60
PERF_SCRIPT_LIMIT_S = 60


# ---- processes -------------------------------------------------------------------------------------------------------
def children(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]
    return []


def is_reader(pid):
    """A process in which geckobpf looks at files of others."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return b"--reader=" in file.read()
    return False


def with_readers(pid):
    return [pid, *filter(is_reader, children(pid))]


def cpu_ns(pid):
    """CPU time of all threads of a process that runs."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total


def profiler_cpu_ns(pid):
    """The same of a profiler, with its readers."""
    return sum(map(cpu_ns, with_readers(pid)))


def peak_mb(pid):
    """(Peak of all memory, and now the part that is not mapped files or rings), with those of its readers."""
    return tuple(map(sum, zip(*map(peak_mb_of_one, with_readers(pid)))))


def peak_mb_of_one(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        found = dict(re.findall(r"^(VmHWM|RssAnon):\s*(\d+) kB", file.read(), re.MULTILINE))
        return int(found.get("VmHWM", 0)) / 1024, int(found.get("RssAnon", 0)) / 1024
    return 0, 0


class Process:
    """A program in a process group of its own."""

    def __init__(self, arguments, **rest):
        rest = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL, **rest}
        self.started = time.monotonic()
        self.popen = subprocess.Popen(arguments, start_new_session=True, **rest)
        self.pid = self.popen.pid

    def signal_group(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def close(self):
        self.signal_group(signal.SIGKILL)
        self.popen.wait()
        for file in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if file:
                file.close()


def read_until(file, pattern):
    """Reads the pipe up to a match; the text so far. It fails at the end of the pipe or of our patience."""
    text, deadline = "", time.monotonic() + PATIENCE_S
    while not re.search(pattern, text):
        ready, _, _ = select.select([file], [], [], max(0, deadline - time.monotonic()))
        data = os.read(file.fileno(), 4096) if ready else b""
        if not data:
            raise RuntimeError(f"no /{pattern}/ in: {text}")
        text += data.decode(errors="replace")
    return text


class Ending:
    """How a profiler ended: from Ctrl-C to its exit."""

    def __init__(self, process, before_ns):
        begin, self.peak_mb, self.anonymous_mb = time.monotonic(), 0, 0
        os.kill(process.pid, signal.SIGINT)
        while True:
            peak, anonymous = peak_mb(process.pid)
            self.peak_mb, self.anonymous_mb = max(self.peak_mb, peak), max(self.anonymous_mb, anonymous)
            pid, _, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > begin + PATIENCE_S:
                raise RuntimeError(f"process {process.pid} does not end")
            time.sleep(0.01)
        self.wall_s = time.monotonic() - begin
        self.cpu_s = usage.ru_utime + usage.ru_stime - before_ns / 1e9
        process.popen.returncode = 0


class Profiler:
    """Common to both: `start_s` from exec to flowing samples, `ending` after stop()."""

    def cpu_percent(self, seconds):
        begin_ns, begin = profiler_cpu_ns(self.process.pid), time.monotonic()
        time.sleep(seconds)
        return (profiler_cpu_ns(self.process.pid) - begin_ns) / 1e7 / (time.monotonic() - begin)

    def size(self):
        return os.path.getsize(self.path)

    def close(self):
        self.process.close()


class Geckobpf(Profiler):
    facts = None

    def __init__(self, bench, pids, rate, options=(), name="ours"):
        """`pids` None: the whole machine."""
        self.path = os.path.join(bench.directory, f"{name}.json.gz")
        whom = ["--pid", ",".join(map(str, pids))] if pids else ["--all"]
        self.process = Process([bench.helper("bpf_stats"), bench.geckobpf, "-v", "--rate", str(rate), *whom, "--force",
                                "--output", self.path, *options], stderr=subprocess.PIPE)
        bench.running.append(self.process)
        self.said = read_until(self.process.popen.stderr, r"\d Hz.*\n")
        self.start_s = time.monotonic() - self.process.started

    def stop(self):
        self.ending = Ending(self.process, cpu_ns(self.process.pid))
        self.said += self.process.popen.stderr.read().decode(errors="replace")
        if not os.path.exists(self.path):
            raise RuntimeError(f"geckobpf wrote nothing: {self.said}")
        return self

    def log(self):
        """The counters of the profilingLog, which is at the end of the profile."""
        if not self.facts:
            with gzip.open(self.path) as file:
                text = file.read()
            begin = text.rindex(b'"profilingLog":') + len(b'"profilingLog":')
            self.facts = json.JSONDecoder().raw_decode(text[begin:].decode())[0]["geckobpf"]
        return self.facts

    def phase_s(self, name):
        """How long what comes after the recording took, by name."""
        with gzip.open(self.path) as file:
            found = re.search(rb'"name":"%s","duration_ms":([\d.]+)' % name.encode(), file.read())
        return float(found.group(1)) / 1000

    @property
    def samples(self):
        return self.log()["samples_recorded"]

    @property
    def lost(self):
        return sum(self.log().get(name, 0) for name in ("samples_lost_ring_full", "samples_lost_recursion",
                                                        "samples_lost_buffer", "samples_overwritten",
                                                        "samples_left_out_at_end"))

    @property
    def missed_share(self):
        """Percent of the timer's ticks that did not come in time."""
        missed = self.log()["timer_ticks_missed"]
        return 100 * missed / (missed + self.log()["timer_ticks"])

    def program_ns(self, name):
        """Nanoseconds a run of a BPF program; None if it never ran."""
        runs, spent = self.program_cost(name)
        return spent / runs if runs else None

    def program_cost(self, name):
        """(runs, nanoseconds of all of them)"""
        found = re.search(rf"BPF program {name}: (\d+) runs, (\d+) ns", self.said)
        if not found:
            raise RuntimeError(f"geckobpf does not say what the BPF program {name} cost")
        return tuple(map(int, found.groups()))


def wait_for_command(process):
    """A profiler runs until its command has ended, and then itself; seconds between the two."""
    found, deadline = [], time.monotonic() + PATIENCE_S
    while not found and time.monotonic() < deadline:
        time.sleep(0.001)
        found = [child for child in children(process.pid) if not is_reader(child)]
    if not found:
        raise RuntimeError("the profiler started no command")
    with os.fdopen(os.pidfd_open(found[0])) as handle:
        select.select([handle], [], [], PATIENCE_S)
    begin = time.monotonic()
    if process.popen.wait(PATIENCE_S):
        raise RuntimeError(f"a profiler of a command failed: {process.popen.stderr.read().decode(errors='replace')}")
    return time.monotonic() - begin


class GeckobpfCommand(Geckobpf):
    def __init__(self, bench, command, rate):
        self.path = os.path.join(bench.directory, "command.json.gz")
        self.process = Process([bench.helper("bpf_stats"), bench.geckobpf, "-v", "--rate", str(rate), "--force",
                                "--output", self.path, "--", *command], stderr=subprocess.PIPE)
        bench.running.append(self.process)
        self.finish_s = wait_for_command(self.process)
        self.said = self.process.popen.stderr.read().decode(errors="replace")

    def all_programs_ns(self):
        return sum(map(int, re.findall(r"BPF program \w+: \d+ runs, (\d+) ns", self.said)))

    def stacks(self):
        """(CPU time in ns, user frames of an average stack; rows of a thread that does not run have none)."""
        with gzip.open(self.path) as file:
            processes = json.load(file)["processes"]
        used_ns = frames = samples = 0
        for thread in (thread for process in processes for thread in process["threads"]):
            user = count_user_frames(thread, processes[0]["meta"]["categories"])
            rows = thread["samples"]["data"]
            used_ns += sum(row[3] or 0 for row in rows if len(row) > 3)
            frames += sum(user[row[0]] for row in rows if row[0] is not None)
            samples += sum(row[0] is not None for row in rows)
        return used_ns, frames / samples


def count_user_frames(thread, categories):
    """How many there are in each stack of the stack table, in which callers come before callees."""
    kernel = [category["name"] for category in categories].index("Kernel")
    is_user = [row[6] != kernel for row in thread["frameTable"]["data"]]
    counts = []
    for prefix, frame in thread["stackTable"]["data"]:
        counts.append((counts[prefix] if prefix is not None else 0) + is_user[frame])
    return counts


class PerfDwarf(Profiler):
    def __init__(self, bench, command):
        self.path = os.path.join(bench.directory, "dwarf.data")
        self.process = Process(["perf", "record", "-q", "-B", "-e", "cpu-clock", "-F", "970", "--call-graph",
                                "dwarf,65528", "-o", self.path, "--", *command], stderr=subprocess.PIPE)
        bench.running.append(self.process)
        self.record_s = wait_for_command(self.process)
        script_s = self.script_s("--no-inline") or self.script_s("--no-inline")
        self.finish_s = self.record_s + script_s if script_s else None

    def script_s(self, *options):
        """How long perf script takes, at most PERF_SCRIPT_LIMIT_S; None: 6.1 crashes now and then."""
        begin = time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            if subprocess.run(["perf", "script", *options, "-i", self.path], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, timeout=PERF_SCRIPT_LIMIT_S, check=False).returncode:
                return None
        return time.monotonic() - begin


class Perf(Profiler):
    def __init__(self, bench, pids, rate):
        self.path = os.path.join(bench.directory, "perf.data")
        control_read, control_write = os.pipe()
        ack_read, ack_write = os.pipe()
        # -B: perf 6.1 now and then crashes when it collects the build ids at its end.
        options = ["-q", "-g", "-B", "-e", "cpu-clock", "-c", str(1_000_000_000 // rate), "-D", "-1",
                   "--control", f"fd:{control_read},{ack_write}"]
        self.process = Process(["perf", "record", *options, "-p", ",".join(map(str, pids)), "-o", self.path],
                               pass_fds=(control_read, ack_write), stderr=subprocess.PIPE)
        bench.running.append(self.process)
        os.close(control_read)
        os.close(ack_write)
        # Both stay open: perf ends when they are closed.
        self.control, self.ack = os.fdopen(control_write, "wb", 0), os.fdopen(ack_read, "rb", 0)
        self.control.write(b"enable\n")
        read_until(self.ack, "ack\n")
        self.start_s = time.monotonic() - self.process.started
        self.samples = self.lost = 0

    def close(self):
        super().close()
        self.control.close()
        self.ack.close()

    def stop(self):
        self.ending = Ending(self.process, cpu_ns(self.process.pid))
        self.count()
        if not self.samples:
            raise RuntimeError(f"perf record made no samples: {self.process.popen.stderr.read().decode()}")
        return self

    def count(self):
        """Samples and lost samples in perf.data: its records are u32 type, u16 misc, u16 size, then the rest."""
        with open(self.path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            self.count_in(data)

    def count_in(self, data):
        _, _, _, _, _, at, size = struct.unpack_from("<8s6Q", data)
        end = at + size
        while at < end:
            kind, _, size = struct.unpack_from("<IHH", data, at)
            if kind == 9:  # PERF_RECORD_SAMPLE
                self.samples += 1
            elif kind == 2:  # PERF_RECORD_LOST: id, count
                self.lost += struct.unpack_from("<Q", data, at + 16)[0]
            elif kind == 13:  # PERF_RECORD_LOST_SAMPLES
                self.lost += struct.unpack_from("<Q", data, at + 8)[0]
            at += max(size, 8)

    def script(self, bench):
        """perf script to nowhere: (seconds and bytes for all samples, peak MB, share that was done), or None."""
        begin = time.monotonic()
        process = Process(["perf", "script", "--no-inline", "-i", self.path], stdout=subprocess.PIPE)
        bench.running.append(process)
        done = size = peak = 0
        last = b""
        while time.monotonic() < begin + PERF_SCRIPT_LIMIT_S:
            data = os.read(process.popen.stdout.fileno(), 1 << 20)
            if not data:
                break
            size += len(data)
            done += (last + data).count(b"\n\n")  # an empty line ends a sample
            last = data[-1:]
            peak = max(peak, peak_mb(process.pid)[0])
        share = min(1, done / self.samples)
        seconds = time.monotonic() - begin
        process.close()
        # 6.1 now and then crashes over a build id.
        return None if share < 0.1 else (seconds / share, size / share, peak, share)
