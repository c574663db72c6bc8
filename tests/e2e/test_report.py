# SPDX-License-Identifier: BSD-2-Clause
"""`geckobpf report` and `geckobpf convert`: what they say is what the profile's JSON says, count by count."""

import collections
import gzip
import json
import os
import re
import subprocess

from harness import Process, expect, expect_equal, expect_match, expect_near

# ---- what the JSON says ----------------------------------------------------------------------------------------------
Counts = collections.namedtuple("Counts", "samples cpu_ns")


def shown_name(thread):
    return "main thread" if thread.name == "GeckoMain" else thread.name


def stack_counts(profile):
    """{(process, thread, (function, ...) from the root): [samples, CPU ns]}; threads of the same names together."""
    counts = collections.defaultdict(lambda: [0, 0])
    for thread in profile.threads:
        for index, row in enumerate(thread.rows()):
            cpu_ns = (row.cpu_ns or 0) if index else 0
            if row.stack is None:
                path = ("(no stack)",)
            else:
                path = tuple(location for location, _ in thread.frames(row.stack))
            count = counts[thread.process_name, shown_name(thread), path]
            count[0] += row.stack is not None
            count[1] += cpu_ns
    return {key: Counts(*count) for key, count in counts.items() if any(count)}


def function_counts(counts):
    """{function: [self samples, total samples, self CPU ns, total CPU ns]}; recursion counts once."""
    functions = collections.defaultdict(lambda: [0, 0, 0, 0])
    for (_, _, path), count in counts.items():
        functions[path[-1]][0] += count.samples
        functions[path[-1]][2] += count.cpu_ns
        for name in set(path):
            functions[name][1] += count.samples
            functions[name][3] += count.cpu_ns
    return dict(functions)


# ---- what the commands say -------------------------------------------------------------------------------------------
def run(test, *arguments, status=0, **rest):
    process = test.start([test.geckobpf, *arguments], **rest)
    expect_equal(process.wait(60), status, f"the exit status of {' '.join(map(str, arguments))}")
    while process.read(0) and process.pipes:
        pass
    return process


def read_report(text):
    """({key: value} of the head, [(cells, name)] of the first table)."""
    lines = text.splitlines()
    head = dict(re.fullmatch(r"(\w+): +(.*)", line).groups() for line in lines[:lines.index("")])
    rows = []
    for line in lines[lines.index("") + 2:]:
        match = re.fullmatch(r" *((?:[\d.-]+ +)+?) ?(\S.*)", line)
        if not match:
            break
        rows.append((match.group(1).split(), match.group(2)))
    return head, rows


def read_functions(text):
    """The table of functions: the numbers of a row are 8, its name may begin with a digit."""
    functions = {}
    lines = text.splitlines()
    for line in lines[lines.index("") + 2:]:
        cells = line.split(None, 8)
        expect(cells[8] not in functions, f"{cells[8]} is there twice")
        functions[cells[8]] = cells[:8]
    return functions


def read_folded(text):
    counts = {}
    for line in text.splitlines():
        path, number = line.rsplit(" ", 1)
        expect(path not in counts, f"{path} is there twice")
        counts[path] = int(number)
    return counts


def read_pprof_top(test, path, index):
    """{function: (flat, cum)} as the real pprof reads it, libs left aside as it does."""
    env = {**os.environ, "HOME": test.directory, "PPROF_TMPDIR": test.directory}
    result = subprocess.run(["go", "tool", "pprof", "-top", f"-sample_index={index}", "-unit=ns", "-nodefraction=0",
                             "-edgefraction=0", "-nodecount=1000000", path],
                            capture_output=True, text=True, env=env, timeout=60, check=False)
    expect_equal(result.returncode, 0, f"pprof's exit status: {result.stderr}")
    rows = {}
    for line in result.stdout.partition("cum%\n")[2].splitlines():
        flat, _, _, cum, _, name = line.split(None, 5)
        rows[name] = tuple(float(re.sub("ns$", "", number)) for number in (flat, cum))
    return rows


# ---- recordings ------------------------------------------------------------------------------------------------------
def record_hot(test, output="profile.json.gz"):
    target = test.start_target("hot", 20, 30)
    return test.record("--pid", target.pid, "--duration", "1", output=output).finish()


def record_threads(test, output="profile.json.gz"):
    target = test.start_target("threads", 20)
    return test.record("--pid", target.pid, "--duration", "1.5", output=output).finish()


def check_report(test, profile):
    counts = stack_counts(profile)
    expected = function_counts(counts)
    process = run(test, "report", "--top", "0", profile.path)
    expect_equal(process.stderr, "", "stderr")
    functions = read_functions(process.stdout)
    expect_equal(set(functions), set(expected), "the functions of the report")
    samples = sum(count.samples for count in counts.values())
    for name, cells in functions.items():
        self_samples, total_samples, self_ns, total_ns = expected[name]
        expect_equal((int(cells[0]), int(cells[4])), (self_samples, total_samples), f"the samples of {name}")
        expect_near(float(cells[1]), 100 * self_samples / samples, 0.051, f"the self share of {name}")
        expect_near(float(cells[5]), 100 * total_samples / samples, 0.051, f"the total share of {name}")
        expect_near(float(cells[2]), self_samples * profile.meta["interval"], 0.051, f"the wall time of {name}")
        expect_near(float(cells[3]), self_ns / 1e6, 0.051, f"the self CPU time of {name}")
        expect_near(float(cells[7]), total_ns / 1e6, 0.051, f"the total CPU time of {name}")
    order = [int(cells[0]) for cells in functions.values()]
    expect_equal(order, sorted(order, reverse=True), "the order of the rows")
    head, _ = read_report(process.stdout)
    expect_equal(head["file"], profile.path, "the file")
    expect_match(rf"^{samples}, ", head["samples"], "the samples")
    expect_equal(head["lost"], "0 samples, 0 events; 0 samples overwritten", "what was lost")


def check_folded(test, profile):
    counts = stack_counts(profile)

    def expected(value):
        lines = {";".join((key[0], key[1], *key[2])): value(count) for key, count in counts.items()}
        return {line: number for line, number in lines.items() if number}

    by_samples = read_folded(run(test, "report", "--folded", profile.path).stdout)
    expect_equal(by_samples, expected(lambda count: count.samples), "the folded stacks")
    by_cpu = read_folded(run(test, "report", "--folded", "--cpu", profile.path).stdout)
    expect_equal(by_cpu, expected(lambda count: (count.cpu_ns + 500) // 1000), "the folded stacks by CPU time")
    path = os.path.join(test.directory, "x.folded")
    run(test, "convert", profile.path, "-o", path)
    with open(path, encoding="utf-8") as file:
        expect_equal(read_folded(file.read()), by_samples, "the folded stacks in a file")
    run(test, "convert", "--cpu", profile.path, "-o", path)
    with open(path, encoding="utf-8") as file:
        expect_equal(read_folded(file.read()), by_cpu, "the folded stacks by CPU time in a file")


def without_libs(counts):
    return {(process, thread, tuple(re.sub(r" \(in [^)]*\)$", "", name) for name in path)): count
            for (process, thread, path), count in counts.items()}


def check_pprof(test, profile):
    test.need("go")
    path = os.path.join(test.directory, "x.pb.gz")
    run(test, "convert", profile.path, "-o", path)
    # Names without libs: stacks that differ in libs only are one, so sum again.
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for (_, _, names), count in [(key, count) for source in [stack_counts(profile)]
                                 for key, count in zip(without_keys(source), source.values())]:
        sums[names[-1]][0] += count.samples
        sums[names[-1]][2] += count.cpu_ns
        for name in set(names):
            sums[name][1] += count.samples
            sums[name][3] += count.cpu_ns
    for index, at, factor in (("samples", 0, 1), ("cpu", 2, 1), ("wall", 0, profile.meta["interval"] * 1e6)):
        rows = read_pprof_top(test, path, index)
        expected = {name: (sum_[at] * factor, sum_[at + 1] * factor) for name, sum_ in sums.items()
                    if sum_[at] or sum_[at + 1]}
        got = {name: row for name, row in rows.items() if any(row)}
        expect_equal(got, expected, f"pprof's {index}")


def test_hot(test):
    profile = record_hot(test)
    check_report(test, profile)
    check_folded(test, profile)
    check_pprof(test, profile)
