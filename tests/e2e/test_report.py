# SPDX-License-Identifier: BSD-2-Clause
"""`geckobpf report` and `geckobpf convert`: what they say is what the profile's JSON says, count by count."""

import collections
import gzip
import json
import os
import re
import subprocess

from harness import expect, expect_equal, expect_match, expect_near

BESIDE_OTHERS = True

# ---- what the JSON says ----------------------------------------------------------------------------------------------
Counts = collections.namedtuple("Counts", "samples cpu_ns")


def shown_name(thread):
    return "main thread" if thread.name == "GeckoMain" else thread.name


def stack_counts(profile):
    """{(process, thread, (function, ...) from the root): [samples, CPU ns]}; threads of the same names together."""
    counts = collections.defaultdict(lambda: [0, 0])
    for thread in profile.threads:
        rows = thread.rows()
        for index, row in enumerate(rows):
            cpu_ns = (row.cpu_ns or 0) if index else 0
            # Where the last two have no stack, it ran on up to the first of them.
            is_closing = index and index + 2 == len(rows) and row.stack is None and rows[-1].stack is None
            shown = rows[index - 1] if is_closing else row
            if shown.stack is None:
                path = ("(no stack)",)
            else:
                path = tuple(location for location, _ in thread.frames(shown.stack))
            count = counts[thread.process_name, shown_name(thread), path]
            count[0] += row.stack is not None
            count[1] += cpu_ns
    return {key: Counts(*count) for key, count in counts.items() if any(count)}


def add_path(functions, path, count):
    """Recursion counts once."""
    functions[path[-1]][0] += count.samples
    functions[path[-1]][2] += count.cpu_ns
    for name in set(path):
        functions[name][1] += count.samples
        functions[name][3] += count.cpu_ns


def function_counts(counts):
    """{function: [self samples, total samples, self CPU ns, total CPU ns]}."""
    functions = collections.defaultdict(lambda: [0, 0, 0, 0])
    for (_, _, path), count in counts.items():
        add_path(functions, path, count)
    return dict(functions)


# ---- what the commands say -------------------------------------------------------------------------------------------
def run(test, *arguments, status=0, **rest):
    process = test.start([test.geckobpf, *arguments], **rest)
    expect_equal(process.wait(60), status, f"the exit status of {' '.join(map(str, arguments))}")
    return process


def read_head(text):
    """{key: value} of the first block."""
    lines = text.splitlines()
    return dict(re.fullmatch(r"(\w+): +(.*)", line).groups() for line in lines[:lines.index("")])


def read_table(text, count):
    """{name: its cells, `count` of them} of the first table, in its order."""
    lines, table = text.splitlines(), {}
    for line in lines[lines.index("") + 2:]:
        cells = line.split(None, count)
        expect(cells[count] not in table, f"{cells[count]} is there twice")
        table[cells[count]] = cells[:count]
    return table


def read_folded(text):
    counts = {}
    for line in text.splitlines():
        path, number = line.rsplit(" ", 1)
        expect(path not in counts, f"{path} is there twice")
        counts[path] = int(number)
    return counts


def pprof(test, *arguments):
    """Newer toolchains compile their pprof when it is first asked for."""
    env = {**test.go_environment(), "HOME": test.directory, "PPROF_TMPDIR": test.directory}
    result = subprocess.run(["go", "tool", "pprof", *arguments], capture_output=True, text=True, env=env, timeout=600,
                            check=False)
    expect_equal(result.returncode, 0, f"pprof's exit status: {result.stderr}")
    return result.stdout


def read_pprof_top(test, path, index):
    """{function: (flat, cum)} as the real pprof reads it."""
    rows = {}
    text = pprof(test, "-top", f"-sample_index={index}", "-unit=ns", "-nodefraction=0", "-edgefraction=0",
                 "-nodecount=1000000", path)
    for line in text.partition("cum%\n")[2].splitlines():
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
    functions = read_table(process.stdout, 8)
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
    head = read_head(process.stdout)
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


def without_lib(location):
    return re.sub(r" \(in [^)]*\)$", "", location)


def check_pprof(test, profile):
    """pprof's own tool leaves libs aside, so functions of one name are one here."""
    path = os.path.join(test.directory, "x.pb.gz")
    run(test, "convert", profile.path, "-o", path)
    functions = collections.defaultdict(lambda: [0, 0, 0, 0])
    for (_, _, path_), count in stack_counts(profile).items():
        add_path(functions, tuple(without_lib(name) for name in path_), count)
    interval_ns = round(profile.meta["interval"] * 1e6)
    for index, at, factor in (("samples", 0, 1), ("cpu", 2, 1), ("wall", 0, interval_ns)):
        expected = {name: (values[at] * factor, values[at + 1] * factor) for name, values in functions.items()
                    if values[at + 1]}
        got = {name: row for name, row in read_pprof_top(test, path, index).items() if any(row)}
        expect_equal(got, expected, f"pprof's {index}")


def check_pprof_labels(test, profile):
    """CPU time by thread and process, as pprof -tags has it."""
    path = os.path.join(test.directory, "x.pb.gz")
    run(test, "convert", profile.path, "-o", path)
    text = pprof(test, "-raw", path)
    cpu_ns, samples = collections.Counter(), collections.Counter()
    pattern = (r"^ +(\d+) +(\d+) +\d+: [\d ]+\n +process:\[(.*)\] thread:\[(.*)\]\n +pid:\[(\d+)\] tid:\[(\d+)\]$")
    for match in re.finditer(pattern, text, re.MULTILINE):
        key = (match.group(3), match.group(4), int(match.group(5)), int(match.group(6)))
        samples[key] += int(match.group(1))
        cpu_ns[key] += int(match.group(2))
    expected_cpu, expected_samples = collections.Counter(), collections.Counter()
    for thread in profile.threads:
        key = (thread.process_name, shown_name(thread), int(thread.pid.split(".")[0]), thread.tid)
        expected_cpu[key] += thread.cpu_ns()
        expected_samples[key] += sum(row.stack is not None for row in thread.rows())
    expect_equal(+cpu_ns, +expected_cpu, "CPU time by labels")
    expect_equal(+samples, +expected_samples, "samples by labels")


def test_hot(test):
    test.need("go")
    profile = record_hot(test)
    check_report(test, profile)
    check_folded(test, profile)
    check_pprof(test, profile)
    functions = read_table(run(test, "report", "--top=0", profile.path).stdout, 8)
    # 30 times on the stack, each sample counts once.
    name = next(name for name in functions if name.startswith("hot_outer (in hot"))
    expect(int(functions[name][4]) <= sum(int(cells[0]) for cells in functions.values()), "hot_outer counts twice")
    expect(float(functions[name][5]) > 95, f"hot_outer has {functions[name][5]} % of the samples")


def test_threads(test):
    test.need("go")
    profile = record_threads(test)
    check_report(test, profile)
    check_folded(test, profile)
    check_pprof(test, profile)
    check_pprof_labels(test, profile)


def test_by_thread(test):
    profile = record_threads(test)
    table = read_table(run(test, "report", "--by", "thread", profile.path).stdout, 6)
    got = {name: (int(cells[0]), float(cells[3]), float(cells[4])) for name, cells in table.items()}
    threads = [thread for thread in profile.threads if thread.cpu_ns() or thread.samples()]
    expect_equal(set(got), {f"{shown_name(thread)} (tid {thread.tid}) of {thread.process_name} (pid {thread.pid})"
                            for thread in threads}, "the threads")
    for thread in threads:
        samples, cpu_ms, born_ms = next(value for name, value in got.items() if f"(tid {thread.tid})" in name)
        expect_equal(samples, len(thread.samples()), f"the samples of {thread}")
        expect_near(cpu_ms, thread.cpu_ns() / 1e6, 0.051, f"the CPU time of {thread}")
        expect_near(born_ms, thread.register_ms, 0.051, f"the start of {thread}")
    table = read_table(run(test, "report", "--by=process", profile.path).stdout, 6)
    expect_equal([int(cells[0]) for cells in table.values()], [sum(len(thread.samples()) for thread in threads)],
                 "the samples of the process")
    text = run(test, "report", "--per-thread", "--top", "1", profile.path).stdout
    expect_equal(len(re.findall(r"^thread: ", text, re.MULTILINE)), len(threads), "the tables")
    for thread in threads:
        expect_match(rf"thread: +{re.escape(shown_name(thread))} \(tid {thread.tid}\) of .*\n"
                     rf"samples: +{len(thread.samples())}, ", text, "a table's head")


def test_compressions_and_sums(test):
    """The three kinds of file say the same; two files are counted together; a pipe will do."""
    profile = record_hot(test, "profile.json")
    with open(profile.path, "rb") as file:
        data = file.read()
    packed = [test.write_file("profile.json.gz", gzip.compress(data)),
              test.write_file("profile.json.zst",
                              subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout)]
    once = read_folded(run(test, "report", "--folded", profile.path).stdout)
    for path in packed:
        expect_equal(read_folded(run(test, "report", "--folded", path).stdout), once, path)
    twice = read_folded(run(test, "report", "--folded", *packed).stdout)
    expect_equal(twice, {line: 2 * number for line, number in once.items()}, "two files")
    process = test.start([test.geckobpf, "report", "--folded", "/dev/stdin"], stdin=subprocess.PIPE)
    process.popen.stdin.write(data)
    process.popen.stdin.close()
    process.wait()
    expect_equal(read_folded(process.stdout), once, "from a pipe")


def test_help(test):
    for command, words in (("report", ("--folded", "--top", "--per-thread")), ("convert", ("--output", "pprof"))):
        process = run(test, command, "--help")
        expect_equal(process.stderr, "", "stderr")
        for word in (f"geckobpf {command} ", "FILE", *words):
            expect(word in process.stdout, f"{word} is not in the help of {command}")


# ---- what cannot be read ---------------------------------------------------------------------------------------------
def refuse(test, arguments, *patterns, status=1):
    process = run(test, *arguments, status=status)
    lines = process.stderr.splitlines()
    expect_equal(len(lines), 1, f"the lines of error: {process.stderr!r}")
    expect_match("^geckobpf: ", lines[0], "the error")
    for pattern in patterns:
        expect_match(pattern, lines[0], "the error")
    expect_equal(process.stdout, "", "stdout")


def test_wrong_inputs(test):
    small = {"meta": {"interval": 1}, "threads": [{"name": "x"}]}
    data = gzip.compress(json.dumps({"meta": {"interval": 1}, "text": "x" * 1000}).encode())
    cases = [
        (test.write_file("text.json", "hello\n"), "byte 0"),
        (test.write_file("empty.json", ""), "empty"),
        (test.write_file("empty.json.gz", gzip.compress(b"")), "empty"),
        (test.write_file("cut.json.gz", data[:-9]), "gzip data end early"),
        (test.write_file("broken.json.gz", data[:20] + b"\xff\xff\xff\xff" + data[24:]), "gzip data"),
        (test.write_file("cut.json", '{"meta": {"interval": 1}, "threads": ['), "byte"),
        (test.write_file("other.json", '{"a": 1}'), "no meta"),
        (test.write_file("names.json", json.dumps(small)), r"threads\[0\]\.pid"),
        (test.make_directory("directory.json"), "directory"),
        (os.path.join(test.directory, "missing.json"), "no such file", "check its name"),
    ]
    for path, *patterns in cases:
        output = os.path.join(test.directory, "out.folded")
        refuse(test, ["report", path], re.escape(path), *patterns, ";")
        refuse(test, ["convert", path, "-o", output], re.escape(path), *patterns, ";")
        expect(not os.path.exists(output), f"{path} became something")
    good = test.write_file("good.json", '{"meta": {"interval": 1}}')
    refuse(test, ["report", good, cases[0][0]], re.escape(cases[0][0]))


def test_wrong_outputs(test):
    good = test.write_file("good.json", '{"meta": {"interval": 1}}')
    refuse(test, ["convert", good, "-o", "/nowhere/x.folded"], "/nowhere/x.folded", "no such file", "-o")
    directory = test.make_directory("d.folded")
    refuse(test, ["convert", good, "-o", directory], re.escape(directory), "directory")
    before = sorted(os.listdir(test.directory))
    with open("/dev/full", "w", encoding="ascii") as full:
        process = run(test, "report", good, stdout=full, status=1)
        expect_match("^geckobpf: stdout: .*No space", process.stderr, "the error")
    expect_equal(sorted(os.listdir(test.directory)), before, "what is left behind")


def test_usage(test):
    good = test.write_file("good.json", '{"meta": {"interval": 1}}')
    for arguments, *patterns in (
            (["report"], "no file"),
            (["report", "--by", "line", good], "--by=line", "function, thread or process"),
            (["report", "--top", "x", good], "--top x", "give"),
            (["report", "--top", "-1", good], "--top -1", "give"),
            (["report", "--cpu", good], "--cpu", "--folded"),
            (["report", "--folded", "--top", "3", good], "--folded", "--top"),
            (["report", "--nothing", good], "--nothing", "geckobpf report --help"),
            (["convert", "-o", "x.folded"], "no file"),
            (["convert", good], "no output", "-o"),
            (["convert", good, "-o"], "-o", "its value is missing"),
            (["convert", good, "-o", "x.txt"], r"x\.txt", r"\.pb\.gz", r"\.folded"),
            (["convert", good, "-o", ".folded"], r"unknown suffix"),
            (["convert", good, "--cpu", "-o", "x.pb.gz"], "--cpu", r"\.folded")):
        refuse(test, arguments, *patterns, status=2)
