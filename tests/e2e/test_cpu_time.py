# SPDX-License-Identifier: BSD-2-Clause
"""CPU time is the kernel's, and where it is drawn: none of before the recording, none while a thread sleeps."""

import json
import os

from harness import PYTHON, Profile, expect, expect_between, expect_equal, expect_near, schedstat_ns, stolen_ns

LOOP = ["sh", "-c", "while :; do :; done"]
# Clocks of the kernel that differ, and times that are rounded.
TOLERANCE_NS = 2000


def rows_of(profile):
    for thread in profile.threads:
        rows = thread.rows()
        yield from ((thread, before, row) for before, row in zip(rows, rows[1:]))


def expect_deltas_fit(profile):
    for thread, before, row in rows_of(profile):
        passed_ns = (row.time_ms - before.time_ms) * 1e6
        expect((row.cpu_ns or 0) <= passed_ns + TOLERANCE_NS,
               f"{thread} used {row.cpu_ns} ns in {passed_ns:.0f} ns, up to {row.time_ms} ms")


def test_no_thread_uses_more_than_the_time_that_goes_by(test):
    """All are listed, and what runs then goes on running until the first sample."""
    for _ in range(2 * os.cpu_count()):
        test.start(LOOP)
    profile = test.record("--all", "--duration", 1).finish(patience_s=60)
    expect_deltas_fit(profile)


def test_attached_to_a_running_process(test):
    loop = test.start(LOOP)
    before_ns = schedstat_ns(loop.pid)
    profile = test.record("--pid", loop.pid, "--duration", 1).finish()
    used_ns = schedstat_ns(loop.pid) - before_ns
    expect_deltas_fit(profile)
    counted_ns = profile.main_thread(loop.pid).cpu_ns()
    expect(counted_ns <= used_ns, f"the profile counts {counted_ns} ns, the kernel {used_ns} ns in a longer time")


def test_all_cpu_time_is_there(test):
    """Where all CPUs are busy, all processes together use all there is, but for what the recorder does, which does not
    record itself."""
    for _ in range(2 * os.cpu_count()):
        test.start(LOOP)
    recording = test.record_running("--all", "--rate", 20)
    stolen, own = stolen_ns(), schedstat_ns(recording.pid)
    expect_equal(test.start([test.target("hot"), "3"]).wait(60), 0, "hot's exit status")
    own, stolen = schedstat_ns(recording.pid) - own, stolen_ns() - stolen
    profile = recording.stop()
    there_ns = profile.duration_ms * 1e6 * os.cpu_count()
    used_ns = sum(thread.cpu_ns() for thread in profile.threads)
    expect_between(used_ns / (there_ns - own) * 100, 99 - stolen / there_ns * 100, 100.5,
                   f"CPU time of all processes in percent of what there was, {there_ns / 1e6} - {own / 1e6} ms")


# ---- short processes -------------------------------------------------------------------------------------------------
# Says what its children used.
CHILDREN = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("used", used.ru_utime + used.ru_stime)
"""
SHORT = ["bash", "-c", "for i in $(seq 1500); do /bin/true; done"]


def check_short(test, rate):
    recording = test.record("--rate", rate, "--", PYTHON, "-c", CHILDREN, *SHORT)
    profile = recording.finish(patience_s=120)
    used_ms = float(recording.wait_for(r"used ([\d.]+)").group(1)) * 1e3
    own = profile.find(pid=min(profile.pids() - {0}))
    counted_ms = sum(thread.cpu_ns() for thread in profile.threads if thread not in own) / 1e6
    expect_near(counted_ms, used_ms, used_ms * 0.01 + 5, f"CPU time of the children, at {rate} Hz, in ms")
    expect_deltas_fit(profile)
    expect(len({thread.pid for thread in profile.threads}) <= 130, "short processes flood the list")
    log = profile.log()
    expect_between(log["processes_gathered"], 1350, 1600, "processes that are shown as one")
    expect(profile.find(process_name=f"{log['processes_gathered']} short processes"), "they have no such name")
    expect(f"{log['processes_gathered']} short processes, " in recording.stderr, f"it is not said: {recording.stderr!r}")


def test_short_processes(test):
    check_short(test, 1000)


def test_short_processes_without_samples(test):
    check_short(test, 10)


def test_all_processes(test):
    """Each by itself, if that is wanted; the CPU time is the same."""
    recording = test.record("--", "bash", "-c", "for i in $(seq 200); do /bin/true; done", output="short.gbpf")
    expect_equal(recording.wait(60), 0, f"geckobpf's exit status: {recording.stderr}")
    profiles = {}
    for options in ((), ("--all-processes",)):
        path = os.path.join(test.directory, f"short{len(options)}.json")
        process = test.start([test.geckobpf, "convert", *options, recording.path, "-o", path])
        expect_equal(process.wait(60), 0, f"the exit status of convert: {process.stderr}")
        profiles[options] = Profile(path)
    gathered, each = profiles.values()
    names = [thread.process_name for thread in each.threads]
    expect(names.count("true") >= 200 and not any("short processes" in name for name in names), f"they are {names}")
    expect(len(gathered.pids()) <= 120, f"{len(gathered.pids())} processes where short ones are gathered")
    counts = [sum(thread.cpu_ns() for thread in profile.threads) for profile in (gathered, each)]
    expect_near(counts[0] / 1e6, counts[1] / 1e6, 0.5, "CPU time of all, in ms")


# ---- sleep -----------------------------------------------------------------------------------------------------------
SPIN = """
import os, time
def spin(cpu_s):
    end = time.thread_time() + cpu_s
    while time.thread_time() < end:
        pass
"""
# 5 ms of work, 50 ms of sleep.
NAPS = SPIN + """
for _ in range(30):
    spin(0.005)
    time.sleep(0.05)
"""
# Works a little for each answer of another process, as a server does, and waits for most of the time.
ANSWERS = SPIN + """
there, back = os.pipe(), os.pipe()
if not os.fork():
    os.close(there[1])
    while os.read(there[0], 1):
        time.sleep(0.0005)
        os.write(back[1], b"x")
    os._exit(0)
for _ in range(1500):
    spin(0.0002)
    os.write(there[1], b"x")
    os.read(back[0], 1)
os.close(there[1])
"""


def gecko_rows(profile):
    """(time in ms, stack, CPU ns) of each thread."""
    for process in profile["processes"]:
        for thread in process["threads"]:
            yield [(row[1], row[0], row[3]) for row in thread["samples"]["data"]]


def processed_rows(profile):
    for thread in profile["threads"]:
        samples, time_ms, rows = thread["samples"], 0, []
        for step_ms, stack, cpu_ns in zip(samples["timeDeltas"], samples["stack"], samples["threadCPUDelta"]):
            time_ms += step_ms
            rows.append((time_ms, stack, cpu_ns))
        yield rows


def record_sleeper(test, program, form):
    recording = test.record(f"--format={form}", "--rate", 1000, "--", PYTHON, "-c", program, output=f"{form}.json")
    expect_equal(recording.wait(60), 0, f"geckobpf's exit status: {recording.stderr}")
    with open(recording.path, encoding="utf-8") as file:
        threads = list({"gecko": gecko_rows, "processed": processed_rows}[form](json.load(file)))
    # The one with the most samples is the program's.
    return max(threads, key=lambda rows: sum(stack is not None for _, stack, _ in rows))


def check_sleeper(test, program, form):
    """What the front-end draws of each stack lasts up to the next row; what used CPU time has a stack."""
    rows = record_sleeper(test, program, form)
    pairs = list(zip(rows, rows[1:]))
    cpu_ms = sum(cpu_ns for _, _, cpu_ns in rows[1:]) / 1e6
    drawn_ms = sum(after[0] - before[0] for before, after in pairs if before[1] is not None)
    expect(rows[-1][0] > 2 * cpu_ms, f"it runs for most of the time: {cpu_ms} ms")
    expect_near(drawn_ms, cpu_ms, cpu_ms * 0.1 + 5, f"what is drawn as running, {form}")
    for index, (before, after) in enumerate(pairs):
        # What runs on after the last sample: the Gecko format has no row for it that counts as none.
        is_closing = form == "gecko" and index >= len(pairs) - 2 and before[1] is not None
        expect(after[1] is not None or not after[2] or is_closing, f"{form}: {after} has CPU time and no stack")
        expect(after[2] / 1e6 <= after[0] - before[0] + TOLERANCE_NS / 1e6, f"{form}: {before}, {after}: too much")


def test_sleep_is_not_drawn_as_running(test):
    for form in ("gecko", "processed"):
        check_sleeper(test, NAPS, form)


def test_many_short_sleeps_are_not_drawn_as_running(test):
    for form in ("gecko", "processed"):
        check_sleeper(test, ANSWERS, form)
