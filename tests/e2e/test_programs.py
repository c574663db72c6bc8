# SPDX-License-Identifier: BSD-2-Clause
"""Real recordings of known programs: what the profile, and the real client, say of them must be true.

The bundled targets (tests/targets) tell what they did, so shares, times and CPU milliseconds are compared with that and
with the kernel's own accounting; the other programs are ones nobody here wrote.
"""

import os
import re
import select
import subprocess
import time

from harness import (PYTHON, Skip, burn, comm, expect, expect_between, expect_equal, expect_match, expect_near,
                     interval_ms, preemptions, schedstat_ns, stolen_ns, wait_until)

MAX_RATE = "/proc/sys/kernel/perf_event_max_sample_rate"
RATE_HZ = 1000
# Some 3000 samples of a busy thread: a share of 0.7 of them has a standard deviation of 0.0084, which is 0.28 of the tolerance.
WATCH_S = 3
SHARE_TOLERANCE = 0.03
# A time that the target looked at before (after) the event may be that much earlier (later): it was not on a CPU.
LATE_MS = 150
# /proc/.../schedstat of a running thread is as old as the last tick.
TICK_MS = 8


class Watch:
    """A recording of a running process, with the kernel's accounting of its threads read at both ends of a window."""

    def __init__(self, test, pid):
        self.pid = pid
        recording = test.record_running("--pid", pid, "--rate", RATE_HZ)
        self.tids = [int(tid) for tid in os.listdir(f"/proc/{pid}/task")]
        self.names = {tid: comm(f"{pid}/task/{tid}") for tid in self.tids}
        self.first, self.first_preempted = self.look(), self.preempted()
        select.select([], [], [], WATCH_S)
        self.last, self.last_preempted = self.look(), self.preempted()
        self.profile = recording.stop()
        self.client = test.client(self.profile)

    def look(self):
        return {tid: (time.monotonic_ns(), schedstat_ns(self.pid, tid)) for tid in self.tids}

    def preempted(self):
        return {tid: preemptions(self.pid, tid) for tid in self.tids}

    def thread(self, tid):
        return self.profile.thread(pid=self.pid, tid=tid)

    def window(self, tid):
        """(start, end, CPU time) in the profile's milliseconds."""
        start, end = self.first[tid], self.last[tid]
        return self.profile.time_ms(start[0]), self.profile.time_ms(end[0]), (end[1] - start[1]) / 1e6

    def check_cpu(self):
        """The profile's CPU deltas against the kernel's accounting, 1 %, for every thread."""
        for tid in self.tids:
            start, end, cpu_ms = self.window(tid)
            got = self.thread(tid).cpu_ns(start, end) / 1e6
            expect_near(got, cpu_ms, cpu_ms * 0.01 + TICK_MS, f"the CPU time (ms) of {self.names[tid]}")

    def check_busy(self, tid):
        """A thread that never waits is sampled at every interval of its CPU time but those missed, and nothing is lost."""
        start, end, cpu_ms = self.window(tid)
        samples = sum(start < row.time_ms <= end for row in self.thread(tid).samples())
        expected = cpu_ms / interval_ms(RATE_HZ)
        # Where others want the CPU, the scheduler's tick and the sampling timer keep a constant phase: each time the
        # thread is preempted, half a sample may be won or lost. (Few are on a quiet machine.)
        tolerance = 0.03 * expected + 0.5 * (self.last_preempted[tid] - self.first_preempted[tid])
        expect(cpu_ms > (end - start) * 0.25, f"{self.names[tid]} had a CPU for only {cpu_ms:.0f} of {end - start:.0f} ms")
        self.check_samples(samples, expected, tolerance, self.names[tid])
        self.profile.expect_nothing_lost()

    def check_samples(self, samples, expected, tolerance, name):
        """Ticks that did not come in time are missing, for any thread: a virtual machine has some."""
        expect_between(samples, expected - tolerance - self.profile.log()["timer_ticks_missed"], expected + tolerance,
                       f"the number of samples of {name}")

    def check_names(self):
        """Every thread is there, in the profile and in the client, under its name; it was there before, and lives."""
        shown = {tid: (process, name) for process, name, tid, _ in self.client.threads()}
        for tid, name in self.names.items():
            thread = self.thread(tid)
            expect_equal(thread.process_name, self.names[self.pid], f"processName of thread {tid}")
            expect_equal(thread.name, "GeckoMain" if tid == self.pid else name, f"the name of thread {tid}")
            expect_equal(shown.get(tid), (self.names[self.pid], thread.name), f"what the client shows of thread {tid}")
            expect(thread.register_ms <= 0, f"registerTime of {name}, there before, is {thread.register_ms}")
            expect_equal(thread.unregister_ms, None, f"unregisterTime of {name}, still alive,")
            expect_equal(thread.process["meta"]["shutdownTime"], None, "shutdownTime of a living process")

    def check_all(self):
        self.check_names()
        self.check_cpu()


def check_top(client, handle, function, share):
    """The client's hottest function, and its share."""
    top = client.functions(handle)[0]
    expect_equal(top["name"], function, "the client's hottest function")
    expect_near(top["selfPercentage"] / 100, share, SHARE_TOLERANCE, f"the client's self share of {function}")


def check_before(got_ms, seen_ms, what):
    """It happened before the target looked at its clock."""
    expect_between(got_ms, seen_ms - LATE_MS, seen_ms + 0.01, what)


def check_after(got_ms, seen_ms, what):
    expect_between(got_ms, seen_ms - 0.01, seen_ms + LATE_MS, what)


def library_share(threads, pattern):
    """The share of samples whose leaf, the kernel left aside, is in a library (or program) of that name."""
    hits = total = 0
    for thread in threads:
        for row in thread.samples():
            user = [location for location, category in thread.frames(row.stack) if category != "Kernel"]
            total += 1
            hits += bool(user and re.search(pattern, user[-1]))
    expect(total, "no samples")
    return hits / total


def test_hot(test):
    target = test.start_target("hot")
    watch = Watch(test, target.pid)
    thread = watch.thread(target.pid)
    watch.check_all()
    watch.check_busy(target.pid)
    expect_near(thread.total_share("hot_inner"), 0.7, SHARE_TOLERANCE, "the total share of hot_inner")
    expect_near(thread.total_share("cold_inner"), 0.3, SHARE_TOLERANCE, "the total share of cold_inner")
    expect_near(thread.self_share("hot_inner"), 0.7, SHARE_TOLERANCE, "the self share of hot_inner")
    expect(thread.total_share("hot_outer") > 0.97, f"hot_outer is on {thread.total_share('hot_outer'):.3f} of the stacks")
    check_top(watch.client, watch.client.handle(target.pid), "hot_inner", 0.7)
    process = [process for process in watch.client.processes() if process["pid"] == str(target.pid)][0]
    expect_near(process["cpuMs"], thread.cpu_ns() / 1e6, 0.01 * process["cpuMs"] + 2, "the client's CPU milliseconds")


def test_hot_deep(test):
    depth = 60
    target = test.start_target("hot", 0, depth)
    profile = test.record("--pid", target.pid, "--duration", 1).finish()
    thread = profile.main_thread(target.pid)
    depths = [sum(location.startswith("hot_outer (") for location, _ in thread.frames(row.stack))
              for row in thread.samples()]
    good = sum(found == depth for found in depths)
    expect(good >= 0.97 * len(depths), f"{good} of {len(depths)} stacks have the {depth} calls of hot_outer")


def test_threads(test):
    target = test.start_target("threads")
    watch = Watch(test, target.pid)
    watch.check_all()
    tids = {name: tid for tid, name in watch.names.items()}
    watch.check_busy(tids["busy"])
    check_top(watch.client, watch.client.handle(tids["busy"]), "busy_work", 1)
    for name in ("half", "tenth"):
        share = watch.thread(tids[name]).total_share(f"{name}_work")
        expect(share > 0.97, f"{name}_work is on {share:.3f} of the stacks of {name}")
    start, end, cpu_ms = watch.window(tids["tenth"])
    samples = sum(start < row.time_ms <= end for row in watch.thread(tids["tenth"]).samples())
    # A binomial count: four of its standard deviations; preemptions as in check_busy().
    preempted = watch.last_preempted[tids["tenth"]] - watch.first_preempted[tids["tenth"]]
    watch.check_samples(samples, cpu_ms / interval_ms(RATE_HZ), 4 * cpu_ms ** 0.5 + 5 + 0.5 * preempted, "tenth")
    expect(len(watch.thread(tids["sleeper"]).samples()) < 20, "the sleeper was seen on a CPU")


def test_threads_whole_life(test):
    recording = test.record("--rate", RATE_HZ, "--", test.target("threads"), 3)
    profile = recording.finish()
    main = [thread for thread in profile.find(name="GeckoMain", process_name="threads")][-1]
    lines = re.findall(r"^cpu (\S+) (\d+) \d+ (\d+) (\d+)$", recording.stdout, re.M)
    expect_equal(len(lines), 4, "the number of threads the target speaks of")
    end_ms = profile.time_ms(re.search(r"^now (\d+)$", recording.stdout, re.M).group(1))
    for name, tid, cpu_ns, start_ns in lines:
        thread = profile.thread(name=name, tid=int(tid))
        expect_equal(thread.pid, main.pid, f"the process of {name}")
        check_before(thread.register_ms, profile.time_ms(start_ns), f"registerTime of {name}")
        check_after(thread.unregister_ms, end_ms, f"unregisterTime of {name}")
        expect_near(thread.cpu_ns() / 1e6, int(cpu_ns) / 1e6, int(cpu_ns) / 1e8 + 3, f"the CPU time (ms) of {name}")
    check_after(main.process["meta"]["shutdownTime"], end_ms, "shutdownTime")
    profile.expect_nothing_lost()
    test.client(profile)


def test_forker(test):
    life_ms = 600
    target = test.start_target("forker", 3, life_ms, 50, stdin=subprocess.PIPE)
    recording = test.record_running("--pid", target.pid, "--rate", RATE_HZ)
    target.write("go\n")
    target.wait()
    profile = recording.finish()
    client = test.client(profile)
    shown = {(process, name, tid) for process, name, tid, _ in client.threads()}
    lines = re.findall(r"^child (\d+) (\d+) (\d+)$", target.stdout, re.M)
    expect_equal(len(lines), 3, "the number of children the target speaks of")
    for number, (pid, start_ns, end_ns) in enumerate(lines):
        thread = profile.main_thread(int(pid))
        name = f"child-{number}"
        expect_equal(thread.process_name, name, "processName of a child")
        expect((name, "GeckoMain", int(pid)) in shown, f"the client does not show {name}: {shown}")
        check_after(thread.register_ms, profile.time_ms(start_ns), f"registerTime of {name}")
        check_before(thread.unregister_ms, profile.time_ms(end_ns), f"unregisterTime of {name}")
        check_before(thread.process["meta"]["shutdownTime"], profile.time_ms(end_ns), f"shutdownTime of {name}")
        expect(thread.total_share("child_work") > 0.9, f"child_work is on {thread.total_share('child_work'):.3f} of {name}")
        expect_near(thread.cpu_ns() / 1e6, life_ms, life_ms * 0.01 + TICK_MS, f"the CPU time (ms) of {name}")
        check_top(client, client.handle(int(pid)), "child_work", thread.self_share("child_work"))
    profile.expect_nothing_lost()


def test_execer(test):
    following = test.copy_target("execer", "execer-next")
    recording = test.record("--rate", RATE_HZ, "--", test.target("execer"), following, 1, 1)
    profile = recording.finish()
    client = test.client(profile)
    first = profile.thread(name="GeckoMain", process_name="execer")
    second = profile.thread(name="GeckoMain", process_name="execer-next")
    expect_equal(second.pid.split(".")[0], first.pid.split(".")[0], "the pid after exec")
    expect(second.pid != first.pid, "both images have the same pid: the front-end shows one only")
    expect(first.total_share("before_exec") > 0.9, f"before_exec: {first.self_samples().most_common(3)}")
    expect(second.total_share("after_exec") > 0.9, f"after_exec: {second.self_samples().most_common(3)}")
    expect_equal(first.total_share("after_exec"), 0, "the share of after_exec before exec")
    expect_equal(second.total_share("before_exec"), 0, "the share of before_exec after exec")
    border = profile.time_ms(re.search(r"^exec (\d+)$", recording.stdout, re.M).group(1))
    image = profile.time_ms(re.search(r"^image (\d+)$", recording.stdout, re.M).group(1))
    check_after(first.unregister_ms, border, "the end of the first image")
    check_before(second.register_ms, image, "the begin of the second image")
    expect_near(second.cpu_ns() / 1e6, 1000, 10 + TICK_MS, "the CPU time (ms) of the second image")
    names = {process for process, _, _, _ in client.threads()}
    expect({"execer", "execer-next"} <= names, f"the client shows {names}")


def test_churn(test):
    stolen_before_ns = stolen_ns()
    target = test.start_target("churn", 4)
    recording = test.record_running("--pid", target.pid, "--rate", RATE_HZ)
    started_ns = time.monotonic_ns()
    target.wait()
    stolen_ms = (stolen_ns() - stolen_before_ns) / 1e6
    profile = recording.finish()
    test.client(profile)
    lines = re.findall(r"^thread (\d+) (\S+) (\d+) (\d+) (\d+)$", target.stdout, re.M)
    lines = [line for line in lines if int(line[2]) > started_ns]
    expect(len(lines) > 100, f"the target speaks of {len(lines)} threads only")
    threads = {thread.tid: thread for thread in profile.threads}
    missing = [line[1] for line in lines if int(line[0]) not in threads]
    expect(not missing, f"{len(missing)} of {len(lines)} threads are not in the profile: {missing[:5]}")
    rough = []
    for tid, name, start_ns, end_ns, cpu_ns in lines:
        thread = threads[int(tid)]
        expect_equal(thread.name, name, f"the name of thread {tid}")
        check_before(thread.register_ms, profile.time_ms(start_ns), f"registerTime of {name}")
        check_after(thread.unregister_ms, profile.time_ms(end_ns), f"unregisterTime of {name}")
        # The first row's delta says nothing: one interval may be missing. Where a hypervisor takes the CPU away at the end
        # of a thread, its last sample may be ahead of the kernel's account, by a tick and what was taken.
        got_ms, said_ms = thread.cpu_ns() / 1e6, int(cpu_ns) / 1e6
        expect_near(got_ms, said_ms, said_ms / 100 + 2 + TICK_MS + stolen_ms, f"the CPU time (ms) of {name}")
        if abs(got_ms - said_ms) > said_ms / 100 + 2:
            rough.append(name)
    expect(len(rough) <= 0.05 * len(lines), f"the CPU times of {len(rough)} of {len(lines)} threads are rough: {rough[:5]}")
    samples = sum(len(threads[int(line[0])].samples()) for line in lines)
    cpu_ms = sum(int(line[4]) for line in lines) / 1e6
    expected, missed = cpu_ms / interval_ms(RATE_HZ), profile.log()["timer_ticks_missed"]
    expect_between(samples, 0.95 * expected - missed, 1.05 * expected, "the number of samples of all threads")
    profile.expect_nothing_lost()


def test_renamer(test):
    target = test.start_target("renamer", stdin=subprocess.PIPE)
    recording = test.record_running("--pid", target.pid)
    select.select([], [], [], 0.5)
    target.write("now\n")
    target.wait_for("renamed\n")
    select.select([], [], [], 0.5)
    profile = recording.stop()
    main = profile.main_thread(target.pid)
    expect_equal(main.process_name, "late-process", "processName")
    names = sorted(thread.name for thread in profile.find(pid=target.pid))
    expect_equal(names, ["GeckoMain", "late-name"], "the names of the threads")
    expect(profile.thread(name="late-name").total_share("thread_work") > 0.9, "thread_work is not hot")
    expect_equal({process for process, _, _, _ in test.client(profile).threads()}, {"late-process"},
                 "the processes the client shows")


def test_syscaller(test):
    target = test.start_target("syscaller")
    watch = Watch(test, target.pid)
    thread = watch.thread(target.pid)
    watch.check_all()
    watch.check_busy(target.pid)
    kernel = thread.category_samples()["Kernel"] / len(thread.samples())
    expect(kernel > 0.9, f"only {kernel:.3f} of the samples are in the kernel")
    expect(thread.total_share("fill_from_zero") > 0.95, f"fill_from_zero is on {thread.total_share('fill_from_zero'):.3f}")
    reading = max(thread.total_share("read_zero"), thread.total_share("read_iter_zero"))
    expect(reading > 0.9, f"the kernel's read_zero is on {reading:.3f} of the stacks")
    leaves = thread.self_samples()
    unnamed = sum(count for name, count in leaves.items() if name.startswith("0x"))
    expect(unnamed == 0, f"{unnamed} leaves have no name: {leaves.most_common(3)}")


def test_zstd(test):
    test.need("zstd")
    words = [b"%x " % (number * 2654435761 % 65521) for number in range(65521)]
    file = test.write_file("input", b"".join(words) * 12)
    target = test.start(["zstd", "-b5", "-i60", "-T1", file])
    wait_until(lambda: comm(target.pid) == "zstd" and schedstat_ns(target.pid) + sum(
        schedstat_ns(target.pid, tid) for tid in os.listdir(f"/proc/{target.pid}/task")) > 3e8, "zstd to work")
    watch = Watch(test, target.pid)
    watch.check_all()
    share = library_share(watch.profile.find(pid=target.pid), r"(libzstd|\(in zstd)")
    expect(share > 0.9, f"only {share:.3f} of the samples are in zstd's own code")


def test_python(test):
    program = test.write_file("loop.py", """
import os
def spin(n):
    x = 1
    for i in range(n):
        x = (x * 31 + i) % 65521
    return x
print("ready", os.getpid(), flush=True)
while True:
    spin(100000)
""")
    target = test.start_target(PYTHON, program)
    watch = Watch(test, target.pid)
    watch.check_all()
    watch.check_busy(target.pid)
    top = watch.client.functions(watch.client.handle(target.pid))[0]
    expect_match("^_PyEval_EvalFrame", top["name"], "the client's hottest function")
    expect_match("python3", top["library"] or "", "its library")
    expect_near(top["selfPercentage"] / 100, watch.thread(target.pid).self_share(top["name"]), 0.001, "its share")


def test_redis(test):
    test.need("redis-server", "redis-benchmark")
    socket = os.path.join(test.directory, "redis.sock")
    # --port 0: no port at all, so nothing to collide with.
    target = test.start(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no"])
    target.wait_for("(?i)ready to accept connections|The server is now ready")
    load = test.start(["redis-benchmark", "-s", socket, "-t", "set,get", "-n", "100000000", "-P", "32", "-q"])
    start = schedstat_ns(target.pid)
    wait_until(lambda: schedstat_ns(target.pid) > start + 2e8, "redis-server to work")
    watch = Watch(test, target.pid)
    watch.check_all()
    watch.profile.expect_nothing_lost()
    expect(load.popen.poll() is None, "redis-benchmark ended")
    main = watch.thread(target.pid)
    share = library_share([main], r"\(in (redis|libc|libjemalloc|libm|\[vdso)")
    expect(share > 0.9, f"only {share:.3f} of the samples are in redis-server or its libraries")
    names = set(main.self_samples(user=True))
    expect(any(re.match("(processCommand|dict\\w*|lookupKey|call|sds\\w*|siphash|addReply\\w*)$", name) for name in names),
           f"no function of redis-server among {sorted(names)[:20]}")
    expect(not watch.profile.find(pid=load.pid), "redis-benchmark is in the profile")


def write_large_c_file(test):
    parts = ["#include <stdio.h>\n"]
    for number in range(400):
        parts.append(f"int f{number}(int a, const int *b)\n{{\n\tint s = {number};\n\tfor (int i = 0; i < a; i++) {{\n"
                     f"\t\ts += b[i] * {number + 3} ^ (s >> {number % 7 + 1});\n"
                     f"\t\tif (s % {number + 2} == 1)\n\t\t\ts -= b[a - i - 1];\n\t}}\n\treturn s;\n}}\n")
    return test.write_file("large.c", "".join(parts))


def test_compiler(test):
    test.need("gcc")
    source = write_large_c_file(test)
    made = os.path.join(test.directory, "large.o")
    recording = test.record("--rate", RATE_HZ, "--", "gcc", "-O2", "-c", source, "-o", made)
    profile = recording.finish()
    expect(os.path.getsize(made) > 30000, "gcc made no object file")
    client = test.client(profile)
    compiler = profile.thread(name="GeckoMain", process_name="cc1")
    assembler = profile.thread(name="GeckoMain", process_name="as")
    driver = [thread for thread in profile.find(name="GeckoMain") if re.match("(x86_64-linux-gnu-)?gcc", thread.process_name)]
    expect(driver, f"no process gcc: {profile.threads}")
    names = {process for process, _, _, _ in client.threads()}
    expect({"cc1", "as"} <= names, f"the client shows {names}")
    share = library_share([compiler], r"\(in (cc1|lib\w+|ld-linux)")
    expect(share > 0.9, f"only {share:.3f} of cc1's samples are in cc1")
    expect(library_share([assembler], r"\(in (as|.*-as|lib|ld-linux)") > 0.8, "as is not in its own code")
    for thread in (compiler, assembler):
        expect(thread.unregister_ms is not None and thread.unregister_ms > thread.register_ms > 0,
               f"{thread} lived from {thread.register_ms} to {thread.unregister_ms}")
    expect(compiler.register_ms < assembler.register_ms, "as started before cc1")
    profile.expect_nothing_lost()


def test_two_programs_at_once(test):
    first, second = test.start_target("hot"), test.start_target("syscaller")
    profile = test.record("--pid", f"{first.pid},{second.pid}", "--duration", 1).finish()
    expect_equal(profile.pids(), {first.pid, second.pid}, "the processes of the profile")
    for pid in (first.pid, second.pid):
        expect(len(profile.main_thread(pid).samples()) > 100, f"process {pid} was hardly sampled")
    shown = {process["pid"] for process in test.client(profile).processes()}
    expect_equal(shown, {str(first.pid), str(second.pid)}, "the processes the client shows")


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def check_accounted(profile, thread, rate_hz):
    """Every tick of its CPU time was a sample, or is told as missed. Returns the missed ones' share."""
    expected, missed = thread.cpu_ns() / 1e6 / interval_ms(rate_hz), profile.log()["timer_ticks_missed"]
    expect(expected > 0.2 * rate_hz, f"the target had a CPU for {expected / rate_hz:.1f} s only")
    expect_near(len(thread.samples()) + missed, expected, 0.03 * expected, f"the samples, and {missed} missed,")
    return missed / expected


def test_missed_ticks(test):
    target = test.start_target("staller")
    recording = test.record("--pid", target.pid, "--duration", 2, "--rate", 10000)
    profile = recording.finish()
    share = check_accounted(profile, profile.main_thread(target.pid), 10000)
    expect(share > 0.05, f"only {100 * share:.1f} % of the ticks were missed")
    said = re.search(r"(\d+) timer ticks \(([\d.]+) %\) did not come in time", recording.stderr)
    expect(said, f"the summary does not say so: {recording.stderr}")
    expect_equal(int(said.group(1)), profile.log()["timer_ticks_missed"], "the missed ticks, in the summary")
    expect_near(float(said.group(2)), 100 * share, 1, "their share (%)")
    log = profile.log()
    expect(log.get("timer_ticks_missed_own", 0) + log.get("timer_ticks_missed_throttled", 0) < 0.1 * log["timer_ticks_missed"],
           f"neither we nor a limit kept the timer away: {recording.stderr}")
    profile.expect_nothing_lost()


def test_ticks_missed_by_sampling(test):
    """To take a sample of so deep a stack takes longer than a period: that is told, and counted."""
    target = test.start_target("deep", 120)
    recording = test.record_running("--pid", target.pid, "--rate", 20000)
    burn(target.pid, 1)
    profile = recording.stop()
    log = profile.log()
    missed, ticks = log["timer_ticks_missed"], log["timer_ticks"]
    expect(missed > 0.2 * ticks, f"only {missed} of {ticks} were missed")
    # A hypervisor may take the rest.
    expect(log["timer_ticks_missed_own"] > 0.8 * missed, f"others are blamed: {recording.stderr}")
    expect_match(r"\d+ of them \(\d+ %\): to take a sample took longer than the time between two; lower --rate", recording.stderr,
                 "the summary")


def test_ticks_missed_by_throttling(test):
    """The kernel's limit is lowered meanwhile, as it does by itself where interrupts take long."""
    with open(MAX_RATE, encoding="ascii") as file:
        limit = file.read()
    test.at_end.append(lambda: write(MAX_RATE, limit))
    target = test.start_target("hot", 120)
    recording = test.record_running("--pid", target.pid, "--rate", 10000)
    try:
        write(MAX_RATE, "1000")
    except OSError as error:
        raise Skip(f"kernel.perf_event_max_sample_rate cannot be set: {error}") from None
    burn(target.pid, 1)
    profile = recording.stop()
    log = profile.log()
    missed, ticks = log["timer_ticks_missed"], log["timer_ticks"]
    expect(missed > ticks, f"only {missed} of {ticks} were missed")
    expect(log["timer_ticks_missed_throttled"] > 0.8 * missed, f"others are blamed: {recording.stderr}")
    expect_match(r"the kernel throttled the timer: kernel.perf_event_max_sample_rate is 1000 now", recording.stderr,
                 "the summary")


def test_high_rate(test):
    target = test.start_target("hot")
    profile = test.record("--pid", target.pid, "--duration", 2, "--rate", 10000).finish()
    thread = profile.main_thread(target.pid)
    check_accounted(profile, thread, 10000)
    expect_near(profile.meta["interval"], interval_ms(10000), 1e-5, "meta.interval")
    profile.expect_nothing_lost()
