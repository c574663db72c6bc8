# SPDX-License-Identifier: BSD-2-Clause
"""The two formats for the Firefox Profiler say the same, as its own client understands them."""

import json
import os
import subprocess

from harness import Failure, expect, expect_equal, read_profile_bytes

BESIDE_OTHERS = True


def convert(test, path, name):
    output = os.path.join(test.directory, f"{name}.json.gz")
    done = subprocess.run([test.geckobpf, "convert", f"--format={name}", path, "-o", output], capture_output=True, text=True,
                          check=False)
    expect_equal(done.returncode, 0, f"the exit status of convert: {done.stderr}")
    return output


def shown_threads(client):
    """{(pid, tid): (CPU ms, handle)}"""
    return {(str(process["pid"]), str(thread["tid"])): (round(thread["cpuMs"], 6), thread["threadHandle"])
            for process in client.call("profile", "info", "--all")["processes"] for thread in process["threads"]}


def shown_functions(client, handle):
    """{(name, library): (self samples, total samples)}"""
    functions = client.call("thread", "functions", "--thread", handle, "--include-idle")["functions"]
    return {(function["name"], function.get("library")): (function["selfSamples"], function["totalSamples"])
            for function in functions}


def call_tree(node):
    """(name, self, total, callees by name)"""
    return (node["nameWithLibrary"], node["selfSamples"], node["totalSamples"],
            sorted(call_tree(child) for child in node.get("children", ())))


def shown_tree(client, handle):
    found = client.call("thread", "samples-top-down", "--thread", handle, "--include-idle", "--max-lines", "100000")
    return call_tree(found["regularCallTree"])


def check_equal(test, path, busy):
    """Converts the capture to both formats; `busy` threads have samples at least."""
    clients = [test.client(convert(test, path, name)) for name in ("gecko", "processed")]
    gecko, processed = [shown_threads(client) for client in clients]
    expect_equal({key: cpu for key, (cpu, _) in processed.items()}, {key: cpu for key, (cpu, _) in gecko.items()},
                 "the threads and their CPU time")
    with_samples = 0
    for key, (_, handle) in gecko.items():
        handles = (handle, processed[key][1])
        functions = [shown_functions(client, of) for client, of in zip(clients, handles)]
        expect_equal(functions[1], functions[0], f"the functions of thread {key}")
        if functions[0]:
            with_samples += 1
            trees = [shown_tree(client, of) for client, of in zip(clients, handles)]
            expect_equal(trees[1], trees[0], f"the call tree of thread {key}")
    expect(with_samples >= busy, f"only {with_samples} threads have samples")
    return clients


def record(test, *arguments):
    recording = test.record(*arguments, output="both.gbpf")
    expect_equal(recording.wait(), 0, f"geckobpf's exit status: {recording.stderr}")
    return recording.path


def test_sleeps_are_equal(test):
    """A weight in one format is as many rows in the other."""
    check_equal(test, record(test, "--off-cpu=on", "--", test.target("waiter"), "1"), 3)


def test_threads_are_equal(test):
    """A program of several threads that sleep, with kernel code. The target is shown, and what it was recorded with."""
    path = record(test, "--rate", 999, "--duration", 1.5, "--include-args", "--", test.target("threads"), "1.2")
    gecko, client = check_equal(test, path, 3)
    said, meta = gecko.call("profile", "meta"), client.call("profile", "meta")
    expect_equal(meta["importedFrom"], "geckobpf", "importedFrom")
    expect(meta["arguments"].endswith(" 1.2"), f"the arguments are {meta['arguments']!r}")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    expect_equal(meta["mainMemoryBytes"], memory, "the main memory")
    told = {entry["label"]: entry["formatted"] for section in meta["extra"] for entry in section["entries"]}
    expect("--rate 999" in told.get("Options", ""), f"what is told of the recording is {told}")
    expect_equal(told.get("Samples lost"), "0", "lost samples")
    expect("complete user stacks" in told, f"the panel lacks the share of complete stacks: {told}")
    said = gecko.call("profile", "meta")
    expect(meta["appBuildID"].startswith("geckobpf "), f"the version is {meta['appBuildID']!r}")
    for key in ("appBuildID", "device"):
        expect_equal(meta.get(key), said.get(key), f"the {key} of both formats")
    names = {thread["name"] for process in client.call("profile", "info", "--all")["processes"]
             for thread in process["threads"]}
    expect("threads" in names and "GeckoMain" not in names, f"the threads are called {names}")


def test_processes_are_equal(test):
    """Programs that fork and become others: several images of one pid."""
    path = record(test, "--rate", 4999, "--", "sh", "-c",
                  "i=0; while [ $i -lt 6 ]; do seq 1 60000 | sort -r | tail -1; i=$((i+1)); done >/dev/null")
    check_equal(test, path, 6)


def test_build_is_shown(test):
    """Of a build with more busy compilers than the front-end shows, make itself, which does nearly nothing, is shown at first."""
    count = 18
    hot = test.target("hot")
    rules = "".join(f"\njob{number}: ; @cp {hot} {test.directory}/job{number}; {test.directory}/job{number} 0.15 >/dev/null\n"
                    for number in range(count))
    makefile = test.write_file("Makefile", "all: " + " ".join(f"job{number}" for number in range(count)) + "\n" + rules)
    recording = test.record("--format=processed", "--", "make", "-j4", "-s", "-f", makefile, output="build.json")
    expect_equal(recording.wait(), 0, f"geckobpf's exit status: {recording.stderr}")
    with open(recording.path, encoding="utf-8") as file:
        profile = json.load(file)
    threads = profile["threads"]
    shown = [threads[index] for index in profile["meta"]["initialVisibleThreads"]]
    names = [thread["processName"] for thread in shown]
    expect(sum(name.startswith("job") for name in names) >= 10, f"the busy processes are not shown, but {names}")
    (make,) = (thread for thread in threads if thread["isMainThread"] and thread["processName"] == "make")
    expect(make in shown, f"make is not shown, but {names}")
    # The front-end has such processes at the top.
    expect_equal([thread["processName"] for thread in threads if thread["processType"] == "default"], ["make"],
                 "what was asked for")


def test_weights(test):
    """What samples weigh is what the client counts."""
    path = os.path.join(test.directory, "weights.json")
    tool = os.path.join(test.build, "tests", "golden", "weights")
    done = subprocess.run([tool, path], capture_output=True, text=True, check=False)
    expect_equal(done.returncode, 0, f"the exit status of weights: {done.stderr}")
    client = test.client(path)
    handles = list(shown_threads(client).values())
    expect_equal(len(handles), 1, "threads")
    functions = shown_functions(client, handles[0][1])
    expect_equal({name: counts for (name, _), counts in functions.items()},
                 {"0x7f0000001000": (0, 1011), "0x7f0000001010": (1, 1), "0x7f0000001020": (10, 10),
                  "0x7f0000001030": (1000, 1000)}, "self and total of the functions")


def test_record_processed(test):
    """The recorder writes it as well; a raw capture has no such format, and reports are made of others."""
    recording = test.record("--format=processed", "--", test.target("threads"), "0.3", output="p.json.gz")
    expect_equal(recording.wait(), 0, f"geckobpf's exit status: {recording.stderr}")
    meta = test.client(recording.path).call("profile", "meta")
    expect(meta["preprocessedProfileVersion"] >= 70, f"its version is {meta['preprocessedProfileVersion']}")
    done = subprocess.run([test.geckobpf, "report", recording.path], capture_output=True, text=True, check=False)
    expect(done.returncode == 1 and "the Firefox Profiler's own format" in done.stderr, f"report: {done.stderr!r}")
    for arguments, words in ((["--format=x", "-o", "p.json"], "--format=x: not known; give gecko or processed"),
                             (["--format=processed", "-o", "p.gbpf"], "p.gbpf is a raw capture")):
        done = subprocess.run([test.geckobpf, *arguments, "--all"], capture_output=True, text=True, check=False)
        if done.returncode != 2 or words not in done.stderr:
            raise Failure(f"{arguments}: {done.returncode}, {done.stderr!r}")


def overheads(path):
    """What a profile in either format says that the recording cost: [statistics]."""
    raw = json.loads(read_profile_bytes(path))
    found = [process["profilerOverhead"] for process in raw.get("processes", ()) if "profilerOverhead" in process]
    found += raw.get("profilerOverhead", ())
    return [overhead["statistics"] for overhead in found]


def test_what_it_cost(test):
    """The front-end's panel has what samples and the recorder took, once, as the recording counted it."""
    path = record(test, "--all-processes", "--", "sh", "-c", f"{test.target('hot')} 1.2; {test.target('hot')} 1.2")
    gecko, processed = [convert(test, path, name) for name in ("gecko", "processed")]
    (said,) = overheads(gecko)
    expect_equal(overheads(processed), [said], "what both formats say")
    log = json.loads(read_profile_bytes(gecko))["profilingLog"]["geckobpf"]
    expect_equal(said["samplingCount"], log["samples_captured"], "the samples")
    each_us = log["cost_samples_ns"] / log["samples_captured"] / 1000
    expect(abs(said["meanThread"] - each_us) < 0.001, f"a sample took {each_us} us: {said}")
    expect(0.2 < said["minThread"] <= said["maxThread"] < 1000, f"the seconds: {said}")
    total_us = (log["cost_samples_ns"] + log["cost_recorder_cpu_ns"]) / 1000
    expect(abs(said["overheadDurations"] - total_us) < 1, f"all of it is {total_us} us: {said}")
    expect(0 < said["overheadPercentage"] < 1, f"the share: {said}")
    expect(log["cost_recorder_peak_bytes"] > 1 << 20, f"the memory: {log}")
    for converted in (gecko, processed):
        test.client(converted)
