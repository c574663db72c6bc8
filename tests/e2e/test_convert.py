# SPDX-License-Identifier: BSD-2-Clause
"""Raw captures become a profile: several of them one, and their symbols found somewhere else."""

import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import urllib.request
import zlib

from harness import Profile, burn, expect, expect_equal, wait_until

BESIDE_OTHERS = True


def convert(test, paths, name="profile.json.gz", options=(), env=None):
    """The profile of these captures, and what convert said."""
    output = os.path.join(test.directory, name)
    process = test.start([test.geckobpf, "convert", *paths, *options, "-o", output], env=env or dict(os.environ))
    process.wait()
    while process.read(0.2):
        pass
    expect_equal(process.status, 0, f"the exit status of convert: {process.stderr}")
    return Profile(output), process.stderr


def capture(recording, number):
    path = recording.path.replace(".gbpf", f"-{number}.gbpf")
    recording.signal(signal.SIGUSR2)
    recording.wait_for(rf"wrote {path} .*\n", stream="stderr")
    return path


def record_raw(test, name, *arguments):
    recording = test.record(*arguments, output=name)
    expect_equal(recording.wait(), 0, f"geckobpf's exit status: {recording.stderr}")
    return recording.path


def sample_times(profile):
    """{thread: [times of its samples since boot, ns]}"""
    start_ns = profile.meta["startTimeAsClockMonotonicNanosecondsSinceBoot"]
    return {(thread.pid, thread.tid): [start_ns + round(row.time_ms * 1e6) for row in thread.samples()]
            for thread in profile.threads}


def union(profiles):
    times = {}
    for profile in profiles:
        for thread, found in sample_times(profile).items():
            times.setdefault(thread, set()).update(found)
    return {thread: sorted(found) for thread, found in times.items()}


def losses(profile):
    return {name: value for name, value in profile.raw["profilingLog"]["geckobpf"].items()
            if "lost" in name and isinstance(value, int)}


# ---- several captures ------------------------------------------------------------------------------------------------
def test_captures_of_one_recording(test):
    """What two captures and the end of a recording have in common is in the profile once; nothing else is missing."""
    target = test.start_target("threads")
    recording = test.record_running("--pid", target.pid, "--rate", 2000, output="flight.gbpf")
    paths = []
    for number in (1, 2):
        burn(target.pid, 0.4)
        paths.append(capture(recording, number))
    burn(target.pid, 0.3)
    recording.signal(signal.SIGINT)
    expect_equal(recording.wait(), 0, "geckobpf's exit status")
    paths.append(recording.path)
    each = [convert(test, [path], f"each{index}.json")[0] for index, path in enumerate(paths)]
    merged, _ = convert(test, [paths[2], paths[0], paths[1]])
    expect(sum(map(len, sample_times(each[0]).values())) > 300, "too few samples in the first capture")
    expect_equal(sample_times(merged), union(each), "the times of the samples of all captures")
    expect_equal({thread.tid: thread.name for thread in merged.threads},
                 {thread.tid: thread.name for thread in each[2].threads}, "the names of the threads")
    expect_equal(merged.raw["profilingLog"]["geckobpf"]["samples_recorded"],
                 each[2].raw["profilingLog"]["geckobpf"]["samples_recorded"], "the counters, which each capture goes on with")
    expect_equal(sorted(set(merged.raw["profilingLog"]) - {"geckobpf"}), sorted(paths), "the recordings in the log")
    expect_equal(merged.duration_ms, each[2].duration_ms, "the duration")
    expect_equal(merged.raw["pausedRanges"], [], "the pauses")
    for thread in merged.threads:
        other = [each_thread for each_thread in each[2].threads if each_thread.tid == thread.tid][0]
        expect(abs(thread.cpu_ns() - other.cpu_ns()) < 10_000_000,
               f"the CPU time of {thread}: {thread.cpu_ns()}, {other.cpu_ns()}")
    test.client(merged)
    folded = os.path.join(test.directory, "all.folded")
    process = test.start([test.geckobpf, "convert", *paths, "-o", folded])
    process.wait()
    with open(folded, encoding="utf-8") as file:
        count = sum(int(line.rsplit(" ", 1)[1]) for line in file)
    expect_equal(count, sum(map(len, sample_times(merged).values())), "the samples in the folded stacks")


def test_captures_apart(test):
    """Where one recording has ended and the next has not begun, the profile says that nothing was recorded."""
    target = test.start_target("hot")
    paths = [record_raw(test, f"{name}.gbpf", "--pid", target.pid, "--duration", 0.5) for name in ("first", "second")]
    each = [convert(test, [path], f"each{index}.json")[0] for index, path in enumerate(paths)]
    merged, _ = convert(test, paths)
    expect_equal(sample_times(merged), union(each), "the times of the samples of both recordings")
    expect_equal(len(merged.raw["processes"]), 1, "processes")
    pauses = merged.raw["pausedRanges"]
    expect_equal(len(pauses), 1, "pauses")
    expect(all(not pauses[0]["startTime"] < row.time_ms < pauses[0]["endTime"]
               for row in merged.main_thread(target.pid).samples()), "samples in the pause")
    for name in ("samples_recorded", "timer_ticks"):
        expect_equal(merged.raw["profilingLog"]["geckobpf"][name],
                     sum(profile.raw["profilingLog"]["geckobpf"][name] for profile in each), f"the sum of {name}")
    expect(losses(merged), "no losses are counted")


def test_different_processes(test):
    paths = [record_raw(test, "hot.gbpf", "--", test.target("hot"), 0.5),
             record_raw(test, "threads.gbpf", "--", test.target("threads"), 0.5)]
    each = [convert(test, [path], f"each{index}.json")[0] for index, path in enumerate(paths)]
    merged, _ = convert(test, paths)
    expect_equal(sample_times(merged), union(each), "the times of the samples of both")
    expect_equal({thread.process_name for thread in merged.threads}, {"hot", "threads"}, "the processes")
    expect_equal(merged.meta["product"], "hot, threads", "the title")
    expect(merged.thread(name="GeckoMain", process_name="hot").total_share("main") > 0.9, "main is not on the stacks")
    client = test.client(merged)
    expect_equal({process["name"] for process in client.processes()}, {"hot", "threads"}, "the processes in the client")


def rewrite_head(path, change):
    """Puts what `change` makes of the first section's bytes in its place: user/archive/section.h."""
    with open(path, "rb") as file:
        data = file.read()
    stored = struct.unpack_from("<I", data, 16 + 12)[0]
    rest = data[16 + 20 + stored:]
    plain = change(subprocess.run(["zstd", "-dc"], input=data[36:36 + stored], capture_output=True, check=True).stdout)
    packed = subprocess.run(["zstd", "-1", "--check", "-c"], input=plain, capture_output=True, check=True).stdout
    header = data[16:24] + struct.pack("<II", len(plain), len(packed))
    with open(path, "wb") as file:
        file.write(data[:16] + header + struct.pack("<I", zlib.crc32(header)) + packed + rest)


def boot_id():
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip().encode()


def test_two_machines(test):
    """Another boot: another clock, whose time of day counts, and other processes, though they have the same ids."""
    test.need("zstd")
    target = test.start_target("hot")
    paths = [record_raw(test, f"{name}.gbpf", "--pid", target.pid, "--duration", 0.5) for name in ("here", "there")]
    here, there = [convert(test, [path], f"each{index}.json")[0] for index, path in enumerate(paths)]
    other = b"x" + boot_id()[1:]
    rewrite_head(paths[1], lambda head: head.replace(boot_id(), other))
    merged, said = convert(test, paths)
    expect_equal({thread.pid for thread in merged.threads}, {str(target.pid), f"{target.pid}.1"}, "the process ids")
    expect_equal(merged.meta["startTime"], here.meta["startTime"], "the start")
    times = {thread.pid: [row.time_ms for row in thread.samples()] for thread in merged.threads}
    lead_ms = there.meta["startTime"] - here.meta["startTime"]
    expect_equal(times[str(target.pid)], [row.time_ms for row in here.main_thread(target.pid).samples()], "times here")
    for moved, row in zip(times[f"{target.pid}.1"], there.main_thread(target.pid).samples()):
        expect(abs(moved - lead_ms - row.time_ms) < 0.001, f"a sample at {row.time_ms} ms is at {moved}, {lead_ms} later")
    expect_equal(len(times[f"{target.pid}.1"]), len(there.main_thread(target.pid).samples()), "samples there")
    expect_equal(len(merged.raw["pausedRanges"]), 1, "pauses")
    expect_equal(merged.raw["profilingLog"][paths[1]]["boot_id"], other.decode(), "the boot in the log")
    for thread in merged.threads:
        expect(thread.total_share("main") > 0.9, f"main is not on the stacks of {thread}")
        expect_equal([string for string in thread.raw["stringTable"] if string.startswith("0x")], [], "frames without names")
    expect_equal(len(test.client(merged).processes()), 2, "processes in the client")


def test_captures_of_before(test):
    """Captures do not tell their boot if they are from before that was written: those of one recording still know each other."""
    test.need("zstd")
    target = test.start_target("hot")
    recording = test.record_running("--pid", target.pid, output="flight.gbpf")
    burn(target.pid, 0.2)
    paths = [capture(recording, 1)]
    recording.signal(signal.SIGINT)
    expect_equal(recording.wait(), 0, "geckobpf's exit status")
    paths.append(recording.path)
    for path in paths:
        rewrite_head(path, lambda head: head[:head.index(boot_id()) - 1])
    each = [convert(test, [path], f"each{index}.json")[0] for index, path in enumerate(paths)]
    merged, _ = convert(test, paths)
    expect_equal(sample_times(merged), union(each), "the times of the samples of both")
    expect_equal(sample_times(merged), sample_times(each[1]), "the times of the samples of the recording")


# ---- symbols from elsewhere ------------------------------------------------------------------------------------------
def call(*arguments):
    result = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, check=False)
    expect_equal(result.returncode, 0, f"the exit status of {arguments[0]}: {result.stderr}")
    return result.stdout


def build_id(path):
    return re.search(r"Build ID: ([0-9a-f]+)", call("readelf", "-nW", path)).group(1)


def strip_copy(test, name):
    """A stripped copy of a target, and its debug file."""
    test.need("strip", "objcopy", "readelf")
    path = test.copy_target("hot", name)
    debug = path + ".kept"
    call("objcopy", "--only-keep-debug", path, debug)
    call("strip", path)
    return path, debug


def move(path, *parts):
    target = os.path.join(*parts)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.move(path, target)
    return target


def hot_share(profile, name):
    return profile.thread(name="GeckoMain", process_name=name).total_share("hot_inner")


def nameless(profile, name):
    """How many of the functions of a program have an address for a name."""
    strings = profile.thread(name="GeckoMain", process_name=name).raw["stringTable"]
    return sum(bool(re.match(rf"{name}(\+|!fn@)0x", string)) for string in strings)


def expect_unnamed(profile, name):
    expect_equal(hot_share(profile, name), 0, "the share of a function whose name is not to be had")
    expect(nameless(profile, name) > 2, "code without a name is not shown by its address")


def expect_named(profile, name):
    expect(hot_share(profile, name) > 0.5, f"hot_inner is on {hot_share(profile, name):.3f} of the stacks")
    expect_equal(nameless(profile, name), 0, "code of the program without a name")


def test_another_machine(test):
    """The program is not here any more, or another one is; its debug file alone, wherever it lies, brings the names back."""
    path, debug = strip_copy(test, "away")
    capture_path = record_raw(test, "away.gbpf", "--", path, 0.6)
    wanted = build_id(path)
    profile, said = convert(test, [capture_path])
    expect_unnamed(profile, "away")
    expect(f"{path} (" in said and "no symbol covers it" in said and "--symbol-dir" in said, f"no remedy: {said}")
    process = test.start([test.geckobpf, "convert", capture_path, "-o", os.path.join(test.directory, "x.folded")])
    expect_equal(process.wait(), 0, "the exit status for folded stacks")
    expect(f"{path} (" in process.stderr, f"no remedy: {process.stderr}")
    stripped = move(path, test.directory, "stripped")
    profile, said = convert(test, [capture_path])
    expect_unnamed(profile, "away")
    expect("it was not found" in said, f"what is missing: {said}")
    # A file of that name that is another build: no names rather than wrong ones.
    shutil.copy(test.target("threads"), path)
    profile, said = convert(test, [capture_path])
    expect_unnamed(profile, "away")
    expect(f"build id {build_id(path)}, not {wanted}" in said, f"both build ids: {said}")
    expect_equal(profile.raw["profilingLog"]["geckobpf"]["files_of_another_build"], 1, "files of another build")
    root, empty = os.path.join(test.directory, "root"), test.make_directory("empty")
    places = [(".build-id", wanted[:2], wanted[2:] + ".debug"),
              ("usr", "lib", "debug", ".build-id", wanted[:2], wanted[2:] + ".debug"),
              ("usr", "lib", "debug", path[1:] + ".debug"), ("away.debug",), ("away",), (path[1:],)]
    for place in places:
        debug = move(debug, root, *place)
        profile, said = convert(test, [capture_path], options=("--symbol-dir", empty, "--symbol-dir", root))
        expect_named(profile, "away")
        expect("away" not in said.split("away.gbpf")[-1].split("wrote")[0], f"what is said: {said}")
    # The stripped program is there, too.
    shutil.move(stripped, os.path.join(root, "away"))
    move(debug, root, "x", "y.debug")
    profile, _ = convert(test, [capture_path], options=("--symbol-dir", root))
    expect_unnamed(profile, "away")
    move(os.path.join(root, "x", "y.debug"), root, *places[0])
    profile, _ = convert(test, [capture_path], options=("--symbol-dir", root))
    expect_named(profile, "away")


def test_record_with_symbol_dir(test):
    """A recording finds the debug file of a stripped program there, too."""
    path, debug = strip_copy(test, "away")
    place = test.make_directory("place")
    move(debug, place, "away.debug")
    expect_unnamed(test.record("--", path, 0.5).finish(), "away")
    expect_named(test.record("--symbol-dir", place, "--", path, 0.5).finish(), "away")


def test_wrong_build(test):
    """A debug file of another build, everywhere it could lie, gives no names."""
    path, debug = strip_copy(test, "away")
    capture_path = record_raw(test, "away.gbpf", "--", path, 0.5)
    wanted = build_id(path)
    root = os.path.join(test.directory, "root")
    changed = "0" * len(wanted)
    with open(debug, "rb") as file:
        data = file.read()
    expect(data.count(bytes.fromhex(wanted)) == 1, "the build id is not once in the file")
    for place in ((".build-id", wanted[:2], wanted[2:] + ".debug"), ("away",), ("away.debug",)):
        os.makedirs(os.path.join(root, *place[:-1]), exist_ok=True)
        with open(os.path.join(root, *place), "wb") as file:
            file.write(data.replace(bytes.fromhex(wanted), bytes.fromhex(changed)))
    profile, _ = convert(test, [capture_path], options=("--symbol-dir", root))
    expect_unnamed(profile, "away")
    os.unlink(path)
    profile, said = convert(test, [capture_path], options=("--symbol-dir", root))
    expect_unnamed(profile, "away")
    expect(f"build id {changed}, not {wanted}" in said, f"both build ids: {said}")


def test_no_build_id(test):
    """A program without one is known by its place, as long as nobody has touched it."""
    test.need("objcopy")
    path = test.copy_target("hot", "anonymous")
    call("objcopy", "--remove-section=.note.gnu.build-id", path)
    capture_path = record_raw(test, "anonymous.gbpf", "--", path, 0.5)
    expect_named(convert(test, [capture_path])[0], "anonymous")
    with open(path, "ab") as file:
        file.write(b"touched")
    profile, said = convert(test, [capture_path])
    expect_unnamed(profile, "anonymous")
    expect("without a build id" in said, f"the reason: {said}")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def has_file(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def test_debuginfod(test):
    """Neither program nor debug file are here: a server has them. It is asked only if it is asked for."""
    test.need("debuginfod")
    path, debug = strip_copy(test, "away")
    capture_path = record_raw(test, "away.gbpf", "--", path, 0.5)
    wanted = build_id(path)
    served = test.make_directory("served")
    move(path, served, "program")
    move(debug, served, "debug")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    test.start(["debuginfod", "-F", "-p", port, "-d", os.path.join(test.directory, "index.sqlite"), served])
    env = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
    env["DEBUGINFOD_CACHE_PATH"] = os.path.join(test.directory, "cache")
    for part in ("executable", "debuginfo"):
        wait_until(lambda part=part: has_file(f"{url}/buildid/{wanted}/{part}"), f"the server's {part}")
    expect_unnamed(convert(test, [capture_path], env=env)[0], "away")
    expect_named(convert(test, [capture_path], options=(f"--debuginfod={url}",), env=env)[0], "away")
    expect(os.path.exists(os.path.join(test.directory, "cache", wanted)), "nothing was fetched")
    # What was fetched is kept; a server that is not there costs nothing then.
    env["DEBUGINFOD_URLS"] = "http://127.0.0.1:1"
    expect_named(convert(test, [capture_path], env=env)[0], "away")
    env["DEBUGINFOD_CACHE_PATH"] = os.path.join(test.directory, "other")
    expect_unnamed(convert(test, [capture_path], env=env)[0], "away")


def interrupt(test, capture_path, name):
    output, temporary = test.make_directory("output"), test.make_directory("temporary")
    with socket.create_server(("127.0.0.1", 0)) as server:
        env = {**os.environ, "DEBUGINFOD_URLS": f"http://127.0.0.1:{server.getsockname()[1]}", "TMPDIR": temporary,
               "DEBUGINFOD_CACHE_PATH": os.path.join(test.directory, "cache")}
        process = test.start([test.geckobpf, "convert", capture_path, "-o", os.path.join(output, name)], env=env)
        server.settimeout(20)
        connection, _ = server.accept()
        with connection:
            os.kill(process.pid, signal.SIGINT)
            process.wait()
    while process.read(0.2):
        pass
    expect_equal(process.status, -signal.SIGINT, "the exit status")
    expect_equal(os.listdir(output) + os.listdir(temporary), [], "what is left behind")


def test_interrupt(test):
    """Ctrl-C while a server lets us wait: nothing is left behind."""
    test.need("debuginfod")  # for its client library
    path, _ = strip_copy(test, "away")
    capture_path = record_raw(test, "away.gbpf", "--", path, 0.3)
    os.unlink(path)
    for name in ("x.json.gz", "x.folded"):
        interrupt(test, capture_path, name)


def test_temporary_file(test):
    """What does not fit into memory has no name, and its errors say where it is. Counts of stacks need no such file."""
    small = record_raw(test, "hot.gbpf", "--", test.target("hot"), 0.3)
    expect_equal(os.stat(small).st_mode & 0o777, 0o600, "who may read it")
    large = os.path.join(test.directory, "large.gbpf")
    made = test.start([os.path.join(test.build, "tests", "bench", "capture"), "raw", 1, 4, 1000, 1_200_000, large])
    expect_equal(made.wait(60), 0, "the exit status of capture")
    directory = test.make_directory("tmpdir")
    for path, name, tmpdir, status in ((small, "x.folded", "/nonexistent", 0), (large, "x.json", directory, 0),
                                       (large, "x.json", "/nonexistent", 1), (large, "x.json", "/dev/full", 1)):
        output = os.path.join(test.directory, name)
        process = test.start([test.geckobpf, "convert", path, "-o", output], env={**os.environ, "TMPDIR": tmpdir})
        expect_equal(process.wait(), status, "the exit status")
        while process.read(0.2):
            pass
        if status:
            expect("set TMPDIR" in process.stderr and "-o" not in process.stderr, f"the error: {process.stderr}")
    expect_equal(os.listdir(directory), [], "what is left behind")


def test_no_such_directory(test):
    for arguments, cause in ((("--symbol-dir", "/nonexistent"), "not a directory"), (("--debuginfod",), "no server")):
        env = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
        process = test.start([test.geckobpf, "convert", *arguments, "x.gbpf", "-o", "x.json"], env=env)
        process.wait()
        while process.read(0.2):
            pass
        expect_equal(process.status, 2, "the exit status")
        expect(cause in process.stderr and process.stderr.count("\n") == 1, f"the error: {process.stderr}")


# ---- parts -----------------------------------------------------------------------------------------------------------
def rows_of(profile):
    return {(thread.tid, row.time_ms) for thread in profile.threads for row in thread.samples()}


def test_parts(test):
    """A part has the samples of the whole that are in it, whatever the format; of a profile as JSON none can be taken."""
    target = test.start_target("threads")
    path = record_raw(test, "whole.gbpf", "--pid", target.pid, "--duration", 1)
    whole = rows_of(convert(test, [path])[0])
    quarter = convert(test, [path], "part.json.gz", ["--from", "0.25", "--to=0.5"])[0]
    part = rows_of(quarter)
    expect_equal((quarter.meta["profilingStartTime"], quarter.meta["profilingEndTime"]), (250, 500), "the time that is shown")
    expect_equal(part, {row for row in whole if 250 <= row[1] < 500}, "the samples of a quarter of a second")
    expect(0 < len(part) < len(whole), f"{len(part)} samples of {len(whole)}")
    tid = max(whole)[0]
    options = ["--process", str(target.pid), "--thread", str(tid)]
    profile = convert(test, [path], "thread.json.gz", options)[0]
    expect_equal(rows_of(profile), {row for row in whole if row[0] == tid}, "the samples of a thread")
    folded = subprocess.run([test.geckobpf, "report", "--folded", *options, path],
                            capture_output=True, text=True, check=True).stdout
    count = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
    expect_equal(count, len(rows_of(profile)), "the samples of a thread, folded")
    refused = subprocess.run([test.geckobpf, "report", *options, profile.path], capture_output=True, text=True, check=False)
    expect_equal((refused.returncode, refused.stdout), (1, ""), "a part of a profile as JSON")
    expect("not a raw capture" in refused.stderr, refused.stderr)


def test_strict(test):
    """--strict tells a script that something is missing, whatever the command and the file."""
    target = test.start_target("threads")
    whole = record_raw(test, "whole.gbpf", "--pid", target.pid, "--duration", 0.3, "--strict")
    profile = os.path.join(test.directory, "whole.json")
    folded = os.path.join(test.directory, "out.folded")
    subprocess.run([test.geckobpf, "convert", "--strict", whole, "-o", profile], capture_output=True, check=True)
    with open(profile, encoding="utf-8") as file:
        document = json.load(file)
    document["profilingLog"]["geckobpf"]["samples_lost_ring_full"] = 3
    lossy = os.path.join(test.directory, "lossy.json")
    with open(lossy, "w", encoding="utf-8") as file:
        json.dump(document, file)
    for options, status in ((["report", "--strict", whole], 0), (["report", "--strict", profile], 0),
                            (["report", lossy], 0), (["report", "--strict", lossy], 1),
                            (["report", "--strict", whole, lossy], 1),
                            (["convert", "--strict", lossy, "-o", folded], 1)):
        done = subprocess.run([test.geckobpf, *options], capture_output=True, text=True, check=False)
        expect_equal(done.returncode, status, f"the exit status of {options}: {done.stderr}")
        expect_equal("--strict: the recording lost" in done.stderr, status == 1, "whether it is said")
    expect(os.path.getsize(folded) > 0, "what was asked for is not there")


def test_report_as_json(test):
    """The same numbers as in the table, for scripts."""
    target = test.start_target("threads")
    path = record_raw(test, "whole.gbpf", "--pid", target.pid, "--duration", 0.3)

    def report(*options):
        done = subprocess.run([test.geckobpf, "report", *options, path], capture_output=True, text=True, check=True)
        return done.stdout

    found = json.loads(report("--json", "--top", "0"))
    table = [line.split() for line in report("--top", "0").split("function\n", 1)[1].splitlines()]
    expect_equal([(str(row["self"]["samples"]), str(row["total"]["samples"])) for row in found["rows"]],
                 [(line[0], line[4]) for line in table], "samples of each function")
    expect_equal(sum(row["self"]["samples"] for row in found["rows"]), found["sum"]["samples"], "the sum")
    threads = json.loads(report("--json", "--by=thread"))["rows"]
    expect_equal({row["pid"] for row in threads}, {str(target.pid)}, "the process of the threads")
    expect_equal(found["sources"][0]["file"], path, "the file")
