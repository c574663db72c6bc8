# SPDX-License-Identifier: BSD-2-Clause
"""harness.py - what the end-to-end tests are made of.

Test       one test's directory, processes, recordings and clients; all of them end with it
Process    a program, its output read with deadlines
Recording  a run of geckobpf
Profile    a finished profile, read from the raw JSON
Client     the Firefox Profiler's own command-line client with a profile loaded

Nothing here sleeps in the hope that something has happened: everything waits for a line, an exit or a file, with a bound.
"""

import collections
import ctypes
import functools
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import zlib

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE_S = 20
PYTHON = "/usr/bin/python3"


class Failure(Exception):
    """A test's expectation does not hold."""


class Skip(Exception):
    """A test cannot be run here, and why."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


def expect_equal(got, expected, what):
    expect(got == expected, f"{what} is {got!r}, not {expected!r}")


def expect_near(got, expected, tolerance, what):
    expect(abs(got - expected) <= tolerance,
           f"{what} is {got:.3f}, not {expected:.3f} (within {tolerance:.3f})")


def interval_ms(rate_hz):
    """Between samples, where so many a second are asked for: longer by half the golden ratio, in tenths."""
    return 1030.901699 / rate_hz


def expect_between(got, low, high, what):
    expect(got is not None and low <= got <= high, f"{what} is {got}, not between {low:.3f} and {high:.3f}")


def expect_match(pattern, text, what):
    expect(re.search(pattern, text, re.IGNORECASE), f"{what} does not match /{pattern}/: {text!r}")


# ---- processes -------------------------------------------------------------------------------------------------------
def adopt_orphans():
    """Makes orphaned grandchildren children of this process, so that no test can leave one behind."""
    ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def children(pid):
    found = []
    try:
        for tid in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{tid}/children", encoding="ascii") as file:
                found += [int(child) for child in file.read().split()]
    except OSError:
        pass
    return found


def is_reader(pid):
    """A process in which geckobpf looks at files of others."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"--reader=" in file.read()
    except OSError:
        return False


def busy_children(pid):
    """Those of a geckobpf that are no readers: its command, or one that writes a capture."""
    return [child for child in children(pid) if not is_reader(child)]


def descendants(pid):
    found = []
    for child in children(pid):
        found += [child] + descendants(child)
    return found


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "?"


def is_alive(pid):
    """Running, or stopped; not a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def kill(pid, signal_number):
    try:
        os.kill(pid, signal_number)
    except ProcessLookupError:
        pass


def wait_until(condition, what, patience_s=PATIENCE_S):
    """For what has no file descriptor to wait on; looks often, and not for ever. Returns what the condition did."""
    end = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        expect(time.monotonic() < end, f"waited {patience_s} s in vain for {what}")
        select.select([], [], [], 0.01)


def schedstat_ns(pid, tid=None):
    """The CPU time the kernel accounts to the thread; up to a tick old while it runs."""
    with open(f"/proc/{pid}/task/{tid or pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0])


def process_cpu_s(pid):
    """What all threads of a process that run now have used; up to a tick old."""
    return sum(schedstat_ns(pid, tid) for tid in os.listdir(f"/proc/{pid}/task")) / 1e9


def burn(pid, cpu_s):
    """Until the process has used so much CPU time more: so many samples there are, however busy the machine is."""
    end_s = process_cpu_s(pid) + cpu_s
    wait_until(lambda: process_cpu_s(pid) > end_s, f"process {pid} to use {cpu_s} s of CPU time", 60)


def stolen_ns():
    """What a hypervisor has taken from all CPUs since boot."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) * 1e9 / os.sysconf("SC_CLK_TCK")


def preemptions(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/status", encoding="utf-8", errors="replace") as file:
        return int(re.search(r"nonvoluntary_ctxt_switches:\s*(\d+)", file.read()).group(1))


def unused_pid():
    """A number no process has."""
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


class Process:
    """A program with its output on pipes. `stdout` may be an open file to write to instead."""

    def __init__(self, arguments, cwd, env=None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, new_group=False,
                 pass_fds=()):
        self.arguments = [str(argument) for argument in arguments]
        self.popen = subprocess.Popen(self.arguments, cwd=cwd, env=env, stdin=stdin, stdout=stdout,
                                      stderr=subprocess.PIPE, start_new_session=new_group, pass_fds=pass_fds)
        self.pid = self.popen.pid
        self.out, self.err = bytearray(), bytearray()
        self.pipes = {}
        for pipe, text in ((self.popen.stdout, self.out), (self.popen.stderr, self.err)):
            if pipe:
                os.set_blocking(pipe.fileno(), False)
                self.pipes[pipe.fileno()] = text

    @property
    def stdout(self):
        return self.out.decode(errors="replace")

    @property
    def stderr(self):
        return self.err.decode(errors="replace")

    @property
    def status(self):
        return self.popen.returncode

    def story(self):
        return (f"$ {' '.join(self.arguments)}\nexit status {self.popen.poll()}\n"
                f"stdout: {self.stdout[-2000:]}\nstderr: {self.stderr[-2000:]}\n")

    def read(self, timeout_s):
        """Reads what there is, waiting for some. False: nothing more will come."""
        if not self.pipes:
            return False
        for fd in select.select(list(self.pipes), [], [], timeout_s)[0]:
            data = os.read(fd, 1 << 20)
            if data:
                self.pipes[fd] += data
            else:
                del self.pipes[fd]
        return True

    def wait_for(self, pattern, patience_s=PATIENCE_S, stream="stdout"):
        """Waits for output that matches; returns the match."""
        end = time.monotonic() + patience_s
        while True:
            match = re.search(pattern, getattr(self, stream))
            if match:
                return match
            left = end - time.monotonic()
            expect(left > 0, f"{self.arguments[0]} did not print /{pattern}/ on {stream} within {patience_s} s")
            if not self.read(left):
                self.popen.wait(PATIENCE_S)
                raise Failure(f"{self.arguments[0]} ended (status {self.status}) without /{pattern}/ on {stream}")

    def wait(self, patience_s=PATIENCE_S):
        """Waits for the exit (not for the end of the output: who inherited a pipe may live on). Returns the status."""
        if self.status is None:
            self.wait_for_exit(time.monotonic() + patience_s, f"{self.arguments[0]} still runs after {patience_s} s")
        while self.pipes and select.select(list(self.pipes), [], [], 0)[0]:
            self.read(0)
        return self.status

    def wait_for_exit(self, end, complaint):
        pidfd = os.pidfd_open(self.pid)
        try:
            while True:
                ready = select.select([pidfd, *self.pipes], [], [], max(0, end - time.monotonic()))[0]
                expect(ready, complaint)
                if pidfd in ready:
                    break
                self.read(0)
        finally:
            os.close(pidfd)
        self.popen.wait()

    def write(self, text):
        self.popen.stdin.write(text.encode())
        self.popen.stdin.flush()

    def signal(self, number):
        kill(self.pid, number)

    def close(self):
        for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if pipe:
                pipe.close()


class Recording(Process):
    """A run of geckobpf, in a directory of its own (`directory`), which is what it may write to."""

    def __init__(self, test, arguments, output="profile.json", prefix=(), directory=None, cwd=None, **rest):
        self.directory = directory or test.make_directory("out")
        self.path = os.path.join(self.directory, output) if output else None
        chosen = ["-o", self.path] if output else []
        arguments = [str(argument) for argument in arguments]
        at = arguments.index("--") if "--" in arguments else len(arguments)
        super().__init__([*prefix, test.geckobpf, *arguments[:at], *chosen, *arguments[at:]],
                         cwd or self.directory, **rest)

    def wait_started(self):
        self.wait_for(r"\bHz\b.*\n", stream="stderr")

    def stop(self):
        """As Ctrl-C does; returns the Profile."""
        self.signal(signal.SIGINT)
        return self.finish()

    def finish(self, status=0, patience_s=30):
        """Waits for the end and returns the Profile."""
        got = self.wait(patience_s)
        if status is not None:
            expect_equal(got, status, "geckobpf's exit status")
        expect(os.path.exists(self.path), f"there is no profile {self.path}; stderr: {self.stderr!r}")
        return Profile(self.path)


# ---- tests -----------------------------------------------------------------------------------------------------------
def alone(function):
    """Marks a test that others would disturb, or that would disturb them, in a file whose tests run beside others."""
    function.alone = True
    return function


def is_alone(function):
    """Unless its file says otherwise."""
    return hasattr(function, "alone") or not function.__globals__.get("BESIDE_OTHERS", False)


class Test:
    def __init__(self, name, build, keep=False):
        self.name, self.build, self.keep = name, build, keep
        self.geckobpf = os.path.join(build, "geckobpf")
        self.directory = tempfile.mkdtemp(prefix=f"geckobpf-{name}-")
        os.chmod(self.directory, 0o755)
        self.processes, self.clients, self.at_end = [], [], []

    def make_directory(self, name):
        for number in range(1000):
            path = os.path.join(self.directory, f"{name}{number or ''}")
            if not os.path.exists(path):
                os.mkdir(path)
                return path
        raise Failure("too many directories")

    def write_file(self, name, content):
        path = os.path.join(self.directory, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def target(self, name):
        path = os.path.join(self.build, "tests", "targets", name)
        expect(os.path.exists(path), f"there is no {path}; run: make targets")
        return path

    def copy_target(self, name, new_name=None):
        """A copy of a target in the test's own directory, reachable by everybody."""
        path = os.path.join(self.directory, new_name or name)
        shutil.copy(self.target(name), path)
        os.chmod(path, 0o755)
        return path

    def start(self, arguments, **rest):
        process = Process(arguments, rest.pop("cwd", self.directory), **rest)
        self.processes.append(process)
        return process

    def start_target(self, name, *arguments, **rest):
        """Starts a target and waits until it is set up."""
        path = name if "/" in name else self.target(name)
        process = self.start([path, *arguments], **rest)
        process.wait_for(r"ready \d+\n")
        return process

    def record(self, *arguments, **rest):
        recording = Recording(self, arguments, **rest)
        self.processes.append(recording)
        return recording

    def record_running(self, *arguments, **rest):
        recording = self.record(*arguments, **rest)
        recording.wait_started()
        return recording

    def client(self, profile):
        client = Client(self, profile.path if isinstance(profile, Profile) else profile)
        self.clients.append(client)
        return client

    def need(self, *commands):
        for command in commands:
            expect(shutil.which(command), f"the command {command} is missing; run: sudo ci/deps.sh test")

    def go_environment(self):
        """Where Go's own library is compiled once for all tests: each toolchain has its part of the cache."""
        return {**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOCACHE": os.path.join(self.build, "go-cache")}

    def story(self):
        return "".join(process.story() for process in self.processes)

    def close(self):
        """Ends all that the test started; returns what was not gone by itself although it should have been."""
        for client in self.clients:
            client.close()
        known = {process.pid for process in self.processes}
        for process in self.processes:
            if process.popen.poll() is None:
                for pid in descendants(process.pid):
                    kill(pid, signal.SIGKILL)
                process.popen.kill()
                process.popen.wait()
            process.close()
        left_over = []
        for pid in children(os.getpid()):
            if pid not in known:
                left_over += [f"{comm(pid)} ({pid})"] if is_alive(pid) else []
                for child in [*descendants(pid), pid]:
                    kill(child, signal.SIGKILL)
                try:
                    os.waitpid(pid, 0)
                except ChildProcessError:
                    pass
        for function in reversed(self.at_end):
            function()
        if not self.keep:
            shutil.rmtree(self.directory, ignore_errors=True)
        return left_over


# ---- profiles --------------------------------------------------------------------------------------------------------
def read_profile_bytes(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        decompressor = zlib.decompressobj(wbits=31)
        text = decompressor.decompress(data) + decompressor.flush()
        expect(decompressor.eof, f"{path} is cut off")
        expect(not decompressor.unused_data, f"{path} is not one gzip member: browsers refuse it")
        return text
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout
    return data


def function_name(location):
    """"func (in lib)" -> "func"."""
    match = re.fullmatch(r"(.*) \(in ([^)]*)\)", location)
    return match.group(1) if match else location


Row = collections.namedtuple("Row", "time_ms stack cpu_ns")


class Thread:
    def __init__(self, profile, process, raw):
        self.profile, self.process, self.raw = profile, process, raw
        self.name, self.pid, self.tid = raw["name"], str(raw["pid"]), raw["tid"]
        self.process_name = raw.get("processName")
        self.register_ms, self.unregister_ms = raw["registerTime"], raw["unregisterTime"]

    def __repr__(self):
        return f"{self.process_name}/{self.name} ({self.pid}:{self.tid})"

    def table(self, name):
        """The rows as dictionaries; missing cells are None."""
        table = self.raw[name]
        columns = table["schema"]
        return [{column: row[index] if index < len(row) else None for column, index in columns.items()}
                for row in table["data"]]

    def rows(self):
        if not hasattr(self, "cached_rows"):
            self.cached_rows = [Row(row["time"], row["stack"], row["threadCPUDelta"]) for row in self.table("samples")]
        return self.cached_rows

    def stacks(self):
        """For each stack its (prefix, frame); frames as (location, category name)."""
        if not hasattr(self, "cached_stacks"):
            names = [category["name"] for category in self.profile.raw["meta"]["categories"]]
            strings = self.raw["stringTable"]
            frames = [(strings[row["location"]], None if row["category"] is None else names[row["category"]])
                      for row in self.table("frameTable")]
            self.cached_stacks = [(row["prefix"], frames[row["frame"]]) for row in self.table("stackTable")]
        return self.cached_stacks

    def frames(self, stack):
        """Root first: [(location, category), ...]."""
        stacks, found = self.stacks(), []
        while stack is not None:
            stack, frame = stacks[stack]
            found.append(frame)
        return found[::-1]

    def samples(self):
        """The rows that say what was running: with a stack whose leaf is not idle."""
        stacks = self.stacks()
        return [row for row in self.rows() if row.stack is not None and stacks[row.stack][1][1] != "Idle"]

    def self_samples(self, user=False):
        """Function name -> samples with it as the leaf (user: as the innermost user frame)."""
        counts, leaf = collections.Counter(), {}
        for row in self.samples():
            if row.stack not in leaf:
                frames = self.frames(row.stack)
                if user:
                    frames = [frame for frame in frames if frame[1] != "Kernel"] or frames
                leaf[row.stack] = function_name(frames[-1][0])
            counts[leaf[row.stack]] += 1
        return counts

    def self_share(self, function, user=False):
        counts = self.self_samples(user)
        total = sum(counts.values())
        expect(total, f"{self} has no samples")
        return counts[function] / total

    def total_share(self, function):
        """The share of samples with the function anywhere on the stack."""
        inside, hits = {}, 0
        for row in self.samples():
            if row.stack not in inside:
                inside[row.stack] = any(function_name(location) == function
                                        for location, _ in self.frames(row.stack))
            hits += inside[row.stack]
        expect(self.samples(), f"{self} has no samples")
        return hits / len(self.samples())

    def category_samples(self):
        """Category of the leaf -> samples."""
        return collections.Counter(self.stacks()[row.stack][1][1] for row in self.samples())

    def cpu_ns(self, after_ms=float("-inf"), until_ms=float("inf")):
        return sum(row.cpu_ns or 0 for row in self.rows()[1:] if after_ms < row.time_ms <= until_ms)


class Profile:
    def __init__(self, path):
        self.path = path
        # Not lenient in what the front-end is strict about.
        text = read_profile_bytes(path).decode("utf-8", errors="strict")
        self.raw = json.loads(text, parse_constant=lambda name: self.refuse(name))
        self.meta = self.raw["meta"]
        self.threads = []
        for process in [self.raw, *self.raw["processes"]]:
            self.threads += [Thread(self, process, raw) for raw in process["threads"]]
        self.check()

    def refuse(self, name):
        raise Failure(f"{self.path} has {name}, which is not JSON")

    def check(self):
        """What holds for every profile."""
        expect_equal(self.meta["version"], 36, "meta.version")
        expect_equal(self.meta["sampleUnits"], {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"}, "sampleUnits")
        mains = collections.Counter(thread.pid for thread in self.threads if thread.name == "GeckoMain")
        for pid in {thread.pid for thread in self.threads}:
            expect(mains[pid] == 1, f"process {pid} has {mains[pid]} threads named GeckoMain, not 1")
        for thread in self.threads:
            times = [row.time_ms for row in thread.rows()]
            expect(times == sorted(times), f"the samples of {thread} are not in the order of time")
            prefixes = [prefix for prefix, _ in thread.stacks()]
            expect(all(prefix is None or prefix < index for index, prefix in enumerate(prefixes)),
                   f"a stack of {thread} comes before its prefix")

    def time_ms(self, monotonic_ns):
        """CLOCK_MONOTONIC as a time of this profile."""
        return (int(monotonic_ns) - self.meta["startTimeAsClockMonotonicNanosecondsSinceBoot"]) / 1e6

    @property
    def duration_ms(self):
        return self.meta["profilingEndTime"] - self.meta["profilingStartTime"]

    def pids(self):
        """Process ids, those of later images ("42.1") as the plain number."""
        return {int(thread.pid.split(".")[0]) for thread in self.threads}

    def find(self, name=None, pid=None, tid=None, process_name=None):
        return [thread for thread in self.threads
                if (name is None or thread.name == name)
                and (pid is None or int(thread.pid.split(".")[0]) == pid)
                and (tid is None or thread.tid == tid)
                and (process_name is None or thread.process_name == process_name)]

    def thread(self, **which):
        found = self.find(**which)
        expect(len(found) == 1, f"{len(found)} threads with {which}, not 1; there are {self.threads}")
        return found[0]

    def main_thread(self, pid):
        return self.thread(name="GeckoMain", pid=pid)

    def log(self):
        """The profilingLog as one dictionary of counters."""
        facts = {}
        expect(self.raw.get("profilingLog"), "there is no profilingLog")
        for value in self.raw["profilingLog"].values():
            facts.update(value)
        return facts

    def expect_nothing_lost(self):
        lost = {name: value for name, value in self.log().items()
                if re.search("lost|drop", name) and isinstance(value, (int, float))}
        expect(lost, f"no loss counter in the profilingLog: {self.log()}")
        expect(not any(lost.values()), f"something was lost: {lost}")


# ---- the real client -------------------------------------------------------------------------------------------------
@functools.cache
def client_command():
    result = subprocess.run([os.path.join(REPOSITORY, "ci", "client.sh")], capture_output=True, text=True, check=False)
    expect(result.returncode == 0, f"ci/client.sh: {result.stderr}")
    return result.stdout.strip()


def client_node():
    """The node that the client runs on: of a version that is known, with its symbols."""
    return os.path.join(os.path.dirname(client_command()), "node_modules", "node", "bin", "node")


class Client:
    """A session of profiler-cli with a profile loaded: loading it must succeed."""

    def __init__(self, test, path):
        self.directory = test.make_directory("client")
        self.env = {**os.environ, "PROFILER_CLI_SESSION_DIR": self.directory, "PROFILER_CLI_NO_SYMBOLICATE": "1"}
        self.open = True
        self.load(path)

    def load(self, path):
        """The client gives its own daemon half a second to start, which a busy machine may miss: that, and only that, is
        tried again."""
        for _ in range(5):
            result = self.run("load", path)
            if result.returncode == 0:
                return
            if "did not become ready within" not in result.stderr:
                break
            late = re.search(r"as pid (\d+)", result.stderr)
            if late:
                kill(int(late.group(1)), signal.SIGKILL)
        raise Failure(f"profiler-cli load exits {result.returncode}: {result.stdout} {result.stderr}")

    def run(self, *arguments):
        # Before the targets, some of which are as busy as can be.
        return subprocess.run(["nice", "-n", "-10", client_command(), *arguments, "--session", "s"], capture_output=True,
                              text=True, env=self.env, timeout=60, check=False)

    def call(self, *arguments):
        result = self.run(*arguments, "--json")
        expect(result.returncode == 0,
               f"profiler-cli {' '.join(arguments)} exits {result.returncode}: {result.stdout} {result.stderr}")
        return json.loads(result.stdout)

    def processes(self):
        return self.call("profile", "info", "--all")["processes"]

    def threads(self):
        """[(process name, thread name, tid, handle), ...]"""
        return [(process["name"], thread["name"], thread["tid"], thread["threadHandle"])
                for process in self.processes() for thread in process["threads"]]

    def handle(self, tid, name=None):
        found = [thread[3] for thread in self.threads()
                 if thread[2] == tid and (name is None or thread[1] == name)]
        expect(len(found) == 1, f"the client shows {len(found)} threads {tid}, not 1: {self.threads()}")
        return found[0]

    def functions(self, handle):
        """[{name, library, selfPercentage, totalPercentage, ...}], the hottest by self time first."""
        functions = self.call("thread", "functions", "--thread", handle)["functions"]
        return sorted(functions, key=lambda function: -function["selfSamples"])

    def close(self):
        if self.open:
            self.open = False
            subprocess.run([client_command(), "stop", "s"], capture_output=True, env=self.env, timeout=60, check=False)
