# SPDX-License-Identifier: BSD-2-Clause
"""Files that were made to exhaust their reader: it takes no more memory than they are worth, and says why it refuses them."""

import os
import re
import select
import signal
import subprocess
import time

import hostile
import hostile_elf
import hostile_frames
from harness import Profile, burn, expect, expect_equal, expect_match, is_alive, wait_until
from stacks import chain_share

NOBODY = 65534

WHY = {
    "images.gbpf": r"images.gbpf: would take more memory than 16 times its size and 32 MB, .*; record it again",
    "names.gbpf": r"names.gbpf: would take more memory than 16 times its size and 32 MB, .*; record it again",
    "frames.gbpf": r"frames.gbpf: its stacks would take more memory than 16 times its size and 32 MB; .*--process",
    "bomb.json.gz": r"bomb.json.gz: too large: its content is larger than \d+ bytes; record for a shorter time",
    "trees.json": r"trees.json: too large: byte \d+: what begins there would take more than 40 MB of memory; record",
}


def run(test, *arguments):
    """Returns the exit status, what was said, the most bytes of memory that it had, and the seconds of CPU time."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(writing, 2)
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
        os.closerange(3, 64)
        os.execv(test.geckobpf, [test.geckobpf, *arguments])
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as file:
        said = file.read()
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), said, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def test_memory(test):
    for name, make in hostile.MADE.items():
        path = test.write_file(name, make())
        most = 20 * os.path.getsize(path) + (64 << 20)
        outputs = ["out.folded", "out.pb.gz"] + ([] if "json" in name else ["out.json", "out.json.gz"])
        paths = [os.path.join(test.directory, output) for output in outputs]
        for arguments in (["report", path], *(["convert", path, "-o", output] for output in paths)):
            status, said, memory, _ = run(test, *arguments)
            what = f"geckobpf {' '.join(arguments)}"
            expect_equal(status, 1, f"the exit status of {what}: {said}")
            expect_match(WHY[name], said, f"what {what} says")
            expect(memory <= most, f"{what} took {memory >> 20} MB of memory, more than {most >> 20} MB")
            expect(not any(os.path.exists(arguments[-1]) for _ in arguments[3:]), f"{what} left {arguments[-1]}")


def test_symbols(test):
    """Of libraries that somebody runs: each costs seconds at most, all of them megabytes, and says what is not read of it."""
    made = hostile_elf.make_all(test.make_directory("made"))
    target = hostile_elf.run(test, made)
    path = os.path.join(test.make_directory("out"), "profile.json")
    status, said, memory, cpu_s = run(test, "--pid", str(target.pid), "--duration", "2", "-o", path)
    expect_equal(status, 0, f"the exit status: {said}")
    expect(memory < 256 << 20, f"it took {memory >> 20} MB of memory")
    expect(cpu_s < 15, f"it took {cpu_s:.1f} s of CPU time")
    for name in ("nested.so", "linked.so", "packed.so"):
        expect_match(f"symbols of [^\n]*/{name} not used: more than are read", said, "what it says")
    expect(not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", said), f"it commands the terminal: {said!r}")
    names = {name for thread in Profile(path).find(pid=target.pid) for name in thread.self_samples()}
    expect(any(name.startswith("in_a_hole") for name in names), f"a name in a hole is missing: {sorted(names)}")


def test_symbols_cost_a_parser(test):
    """It has no more memory for names than what is answered takes, whatever the files are."""
    target = hostile_elf.run(test, hostile_elf.make_all(test.make_directory("made")))
    recording = test.record_running("--pid", target.pid)
    burn(target.pid, 1)
    before = memory_peak(recording.pid)
    recording.signal(signal.SIGINT)
    peaks = [before]
    while is_alive(recording.pid):
        peaks.append(memory_peak_of_living(recording.pid))
        select.select([], [], [], 0.005)
    recording.finish()
    more = max(peaks) - before
    expect(more < 24 << 20, f"names took {more >> 20} MB of memory of the recorder")


def memory_peak_of_living(pid):
    """0: it has ended."""
    try:
        return memory_peak(pid)
    except (OSError, TypeError, AttributeError):
        return 0


def memory_peak(pid):
    """In bytes."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmHWM:\s*(\d+) kB", file.read()).group(1)) * 1024


def test_unwind_information(test):
    """Of libraries that somebody else runs: it costs little, is told, and leaves room for the tables of others."""
    directory = test.make_directory("made")
    greedy = hostile_frames.run(test, hostile_frames.make_all(directory, NOBODY))
    source, victim = os.path.join(directory, "victim.c"), os.path.join(directory, "victim")
    test.write_file(source, hostile_frames.own_rules())
    subprocess.run(["gcc", "-O1", "-fomit-frame-pointer", "-o", victim, source], check=True)
    target = test.start_target(victim)
    before_s = time.monotonic()
    recording = test.record_running("--pid", f"{greedy.pid},{target.pid}", "--rate", "997")
    expect(time.monotonic() - before_s < 20, "it took long to start")
    # Room that was made is used a second later, by the clock.
    wait_until(lambda: time.monotonic() - before_s > 4, "four seconds to pass", 30)
    burn(target.pid, 4)
    peak = memory_peak(recording.pid)
    profile = recording.stop()
    expect(peak < 400 << 20, f"it took {peak >> 20} MB of memory")
    expect_match(r"so has an .eh_frame of more than 32 MiB, or with holes: its stacks may be cut", recording.stderr,
                 "the summary")
    log = profile.log()
    expect(log["unwind_files_beyond_limits"] >= hostile_frames.SPARSE, f"not all sparse files are counted: {log}")
    expect(log["unwind_tables_displaced"] >= 1, "nobody made room")
    # Before that its frames are cut.
    share = chain_share(profile, "_start", "main", "f299", "f1", "f0", pid=target.pid)
    expect(share > 0.4, f"only {100 * share:.1f} % of the stacks of another program are whole")
