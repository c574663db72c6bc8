# SPDX-License-Identifier: BSD-2-Clause
"""Options and forms of output."""

import json
import os
import re
import signal
import subprocess
import zlib

from harness import (PYTHON, Profile, expect, expect_between, expect_equal, expect_match, expect_near, interval_ms,
                     read_profile_bytes)

BESIDE_OTHERS = True

NOBODY = 65534


def record_hot(test, *options, **rest):
    target = test.start_target("hot")
    return test.record("--pid", target.pid, "--duration", "0.5", *options, **rest), target


def check_hot(profile, target):
    top = profile.main_thread(target.pid).self_samples().most_common(1)[0][0]
    expect_equal(top, "hot_inner", "the hottest function")


def first_bytes(path, count):
    with open(path, "rb") as file:
        return file.read(count)


def test_json(test):
    recording, target = record_hot(test, output="p.json")
    check_hot(recording.finish(), target)
    expect_equal(first_bytes(recording.path, 1), b"{", "the first byte")


def test_gzip(test):
    recording, target = record_hot(test, output="p.json.gz")
    check_hot(recording.finish(), target)
    with open(recording.path, "rb") as file:
        data = file.read()
    decompressor = zlib.decompressobj(wbits=31)
    json.loads(decompressor.decompress(data))
    expect(decompressor.eof and not decompressor.unused_data, "it is not exactly one gzip member")


def test_zstd(test):
    test.need("zstd")
    recording, target = record_hot(test, output="p.json.zst")
    check_hot(recording.finish(), target)
    expect_equal(first_bytes(recording.path, 4), b"\x28\xb5\x2f\xfd", "the first bytes")


def test_stdout(test):
    path = os.path.join(test.directory, "stdout")
    target = test.start_target("hot")
    with open(path, "wb") as file:
        recording = test.record("--pid", target.pid, "--duration", "0.5", "-o", "-", output=None, stdout=file)
        expect_equal(recording.wait(), 0, "the exit status")
    check_hot(Profile(path), target)
    expect_equal(os.listdir(recording.directory), [], "the directory")


def test_stdout_pipe(test):
    target = test.start_target("hot")
    recording = test.record("--pid", target.pid, "--duration", "0.5", "-o", "-", output=None)
    expect_equal(recording.wait(), 0, "the exit status")
    check_hot(Profile(test.write_file("stdout", bytes(recording.out))), target)


def test_default_name(test):
    recording, target = record_hot(test, output=None)
    expect_equal(recording.wait(), 0, "the exit status")
    names = os.listdir(recording.directory)
    expect_equal(len(names), 1, "the number of files")
    expect_match(rf"^hot-{target.pid}-\d{{8}}-\d{{6}}\.json\.gz$", names[0], "the default name")
    expect(names[0] in recording.stderr, f"the name is not told: {recording.stderr!r}")
    check_hot(Profile(os.path.join(recording.directory, names[0])), target)


def test_over_existing_file(test):
    directory = test.make_directory("mine")
    path = os.path.join(directory, "p.json")
    with open(path, "w", encoding="ascii") as file:
        file.write("old")
    recording, target = record_hot(test, "--force", output="p.json", directory=directory)
    check_hot(recording.finish(), target)
    expect_equal(os.listdir(directory), ["p.json"], "the directory")


def test_summary(test):
    recording, target = record_hot(test)
    profile = recording.finish()
    first, *_, = recording.stderr.splitlines()
    expect_match(rf"hot.*\b{target.pid}\b.*970 Hz.*Ctrl-C", first, "the first line")
    expect_match(r"wrote .*profile\.json.*\d+ samples.*\b0 lost", recording.stderr.replace("\n", " "), "the summary")
    expect("https://profiler.firefox.com" in recording.stderr, "it does not say how to open the profile")
    expect_equal(recording.stdout, "", "stdout")
    expect_equal(profile.raw["meta"]["presymbolicated"], True, "meta.presymbolicated")


def build_ids(path):
    text = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", text).group(1)


def test_addresses(test):
    recording, target = record_hot(test, "--symbols=addresses")
    profile = recording.finish()
    thread = profile.main_thread(target.pid)
    expect(not profile.meta.get("presymbolicated"), "meta.presymbolicated is set")
    locations = {location for row in thread.samples() for location, category in thread.frames(row.stack)
                 if category == "User"}
    bad = [location for location in locations if not re.fullmatch(r"0x[0-9a-f]+", location)]
    expect(locations and not bad, f"user frames that are no address: {bad[:5]}")
    build_id = build_ids(test.target("hot"))
    libs = [lib for lib in thread.process["libs"] if lib["name"] == "hot"]
    expect(libs, f"hot is not among the libs {[lib['name'] for lib in thread.process['libs']]}")
    for lib in libs:
        expect_match(r"^[0-9A-F]{33}$", lib["breakpadId"], "breakpadId")
        expect_equal(lib["codeId"], build_id, "codeId")
        guid = bytes.fromhex(build_id[:32])
        guid = guid[3::-1] + guid[5:3:-1] + guid[7:5:-1] + guid[8:]
        expect_equal(lib["breakpadId"], guid.hex().upper() + "0", "breakpadId")
    starts = [lib["start"] for lib in thread.process["libs"]]
    expect_equal(starts, sorted(starts), "the libs' order")
    inside = sum(any(lib["start"] <= int(thread.frames(row.stack)[-1][0], 16) < lib["end"] for lib in libs)
                 for row in thread.samples() if thread.frames(row.stack)[-1][1] == "User")
    expect(inside > 0.9 * len(thread.samples()), f"{inside} of {len(thread.samples())} leaves are in hot")
    test.client(profile)


def categories_used(profile):
    return {category for thread in profile.threads for row in thread.samples()
            for _, category in thread.frames(row.stack)}


def test_kernel_and_user_only(test):
    target = test.start_target("syscaller")
    both = test.record("--pid", target.pid, "--duration", "0.5").finish()
    expect("Kernel" in categories_used(both), f"no kernel frames by default: {categories_used(both)}")
    user = test.record("--pid", target.pid, "--duration", "0.5", "--user-only").finish()
    expect("Kernel" not in categories_used(user), f"the categories with --user-only: {categories_used(user)}")
    thread = user.main_thread(target.pid)
    expect(thread.total_share("fill_from_zero") > 0.9, "the user part of samples in the kernel is missing")
    kernel = test.record("--pid", target.pid, "--duration", "0.5", "--kernel").finish()
    expect("Kernel" in categories_used(kernel), "no kernel frames with --kernel")


def test_quiet(test):
    recording, _ = record_hot(test, "-q")
    recording.finish()
    expect_equal((recording.stdout, recording.stderr), ("", ""), "stdout and stderr with -q")


def first_words(lines):
    """What the lines begin with. A busy virtual machine may keep ticks back, and that is told as well."""
    return [line.split()[0] for line in lines if not re.search(r"\d timer ticks \(", line)]


def test_progress_json(test):
    recording, target = record_hot(test, "--progress=json")
    check_hot(recording.finish(), target)
    lines = recording.stderr.splitlines()
    steps = [json.loads(line) for line in lines if line.startswith("{")]
    expect_equal([set(step) for step in steps], [{"progress", "task", "eta_s"}] * len(steps), "the keys")
    parts = [step["progress"] for step in steps]
    expect_equal((parts[0], parts[-1]), (0, 1), "the first and the last progress")
    expect_equal(parts, sorted(parts), "progress")
    expect_equal(parts.count(1), 1, "the number of ends")
    # First and last, and in between no more than one in a tenth of a second.
    expect(len(parts) <= 3 + 10 * recording_age_s(recording), f"{len(parts)} lines of progress")
    expect_equal(first_words(line for line in lines if not line.startswith("{")), ["geckobpf:", "geckobpf:", "open"],
                 "how the other lines begin")


def recording_age_s(recording):
    """How long it took to make the profile after the recording."""
    (log,) = Profile(recording.path).raw["profileGatheringLog"].values()
    return sum(phase["duration_ms"] for phase in log["phases"]) / 1000


def test_progress_refused(test):
    process = test.start([test.geckobpf, "--progress=dots", "--all"])
    expect_equal(process.wait(), 2, "the exit status")
    expect_match(r"^geckobpf: --progress=dots: .*bar, json or none\n$", process.stderr, "what it says")


def test_no_terminal(test):
    """Nothing but the usual lines, and no control characters, whatever is asked for."""
    for options in ([], ["--progress=bar"], ["--progress=none"]):
        recording, _ = record_hot(test, *options)
        recording.finish()
        expect_equal(first_words(recording.stderr.splitlines()), ["geckobpf:", "geckobpf:", "open"],
                     f"how the lines begin with {options}")
        expect(not re.search(r"[\x00-\x09\x0b-\x1f]", recording.stderr), f"control characters: {recording.stderr!r}")


def record_on_terminal(test, *options):
    """What the terminal got."""
    target = test.start_target("hot")
    path = os.path.join(test.make_directory("out"), "p.json")
    spawn = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    process = test.start([PYTHON, "-c", spawn, test.geckobpf, "--pid", target.pid, "--duration", "0.5", "-o", path,
                          *options])
    expect_equal(process.wait(), 0, "the exit status")
    check_hot(Profile(path), target)
    return process.stdout


def test_terminal(test):
    text = record_on_terminal(test)
    clear = "\r\x1b[K"
    expect_match(r"\[=*> *\] 0\.\d s .* samples", text, "the status line of the recording")
    begin = text.index(clear + "  [>           ]  0 %   reading kernel symbols")
    last, *after = text[begin:].split(clear)[2:][-1].split("\r\n")
    expect_match(r"^geckobpf: wrote ", last, "what comes after the bar was removed")
    expect(after and not any("%   " in line for line in after), f"the bar stays: {text!r}")
    expect(clear not in record_on_terminal(test, "--progress=none"), "a status line with --progress=none")
    expect(clear not in record_on_terminal(test, "-q"), "a status line with -q")


def test_top(test):
    recording, _ = record_hot(test, "--top", 3)
    recording.finish()
    lines = [line for line in recording.stdout.splitlines() if "%" in line]
    expect(1 <= len(lines) <= 3, f"--top 3 prints {recording.stdout!r}")
    # The share itself is test_programs' matter; here half a second must do, on a machine that may be busy.
    expect_match(r"^\s*[5-8]\d\.\d %\s+\d+\s+hot_inner \(in hot\)$", lines[0], "the hottest function")


def test_version_and_help(test):
    for option, pattern in (("--version", r"^geckobpf \d+\.\d+"),
                            ("--help", r"(?=.*--pid)(?=.*--rate)(?=.*--duration)(?=.*--output)")):
        process = test.start([test.geckobpf, option])
        expect_equal(process.wait(), 0, f"the exit status of {option}")
        expect_match("(?s)" + pattern, process.stdout, f"what {option} prints")
        expect_equal(process.stderr, "", f"stderr of {option}")


def test_record_word(test):
    target = test.start_target("hot")
    directory = test.make_directory("out")
    path = os.path.join(directory, "p.json")
    process = test.start([test.geckobpf, "record", "--pid", target.pid, "--duration", "0.5", "-o", path])
    expect_equal(process.wait(), 0, "the exit status")
    check_hot(Profile(path), target)


def test_rate_options(test):
    target = test.start_target("hot")
    for option in (["-r", "250"], ["-F", "250"], ["--frequency", "250"], ["--rate=250"]):
        profile = test.record("-p", target.pid, "-d", "0.4", *option).finish()
        expect_near(profile.meta["interval"], interval_ms(250), 1e-5, f"meta.interval with {option}")


def test_profile_name(test):
    recording, _ = record_hot(test, "--profile-name", "A name; \"quoted\" \u00e9")
    profile = recording.finish()
    expect_equal(profile.meta["product"], "A name; \"quoted\" \u00e9", "meta.product")
    test.client(profile)


def test_include_args(test):
    target = test.start([test.target("hot"), "30", "1"])
    target.wait_for("ready")
    names = []
    for options in ([], ["--include-args"], ["--include-args=1"]):
        profile = test.record("--pid", target.pid, "--duration", "0.3", *options).finish()
        names.append(profile.main_thread(target.pid).process_name)
    expect_equal(names, ["hot", "hot 30 1", "hot 30"], "processName without, with all and with one argument")


def test_children(test):
    for options, count in (([], 3), (["--no-children"], 1)):
        target = test.start_target("forker", 2, 200, 10, stdin=subprocess.PIPE)
        recording = test.record_running("--pid", target.pid, *options)
        target.write("go\n")
        target.wait()
        profile = recording.finish()
        expect_equal(len(profile.pids()), count, f"the number of processes with {options}")
        expect(target.pid in profile.pids(), "the target is not in its profile")


def test_all(test):
    first, second = test.start_target("hot"), test.start_target("syscaller")
    recording = test.record("--all", "--duration", "1")
    profile = recording.finish()
    expect({first.pid, second.pid} <= profile.pids(), f"the targets are not in {profile.pids()}")
    expect(recording.pid not in profile.pids(), "geckobpf is in its own profile")
    check_hot(profile, first)
    test.client(profile)


def test_command_output_is_its_own(test):
    recording = test.record("--", "sh", "-c", "echo out; echo err >&2; cat; exit 3", stdin=subprocess.PIPE)
    recording.write("from stdin\n")
    recording.popen.stdin.close()
    recording.finish(3)
    expect_equal(recording.stdout, "out\nfrom stdin\n", "stdout of COMMAND")
    expect("err\n" in recording.stderr, "stderr of COMMAND is missing")


def without_libc_signals(text):
    """Signals 32 and 33 are libc's own, for threads: who starts one no longer ignores them, and nobody can ask for that."""
    return re.sub(r"(?<=:\t)[0-9a-f]{16}", lambda mask: f"{int(mask.group(), 16) & ~(3 << 31):016x}", text)


def test_command_environment(test):
    """COMMAND gets what it would get without geckobpf: descriptors, signals, directory, variables."""
    script = "pwd; echo $MARK; ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign)' /proc/self/status"
    env = {**os.environ, "MARK": "kept"}
    alone = test.start(["sh", "-c", script], env=env)
    alone.wait()
    recording = test.record("--", "sh", "-c", script, env=env, cwd=test.directory)
    recording.finish()
    expect_equal(without_libc_signals(recording.stdout), without_libc_signals(alone.stdout), "what COMMAND sees")


def test_sudo(test):
    """As sudo would start it: COMMAND runs as the invoking user, to whom the profile belongs."""
    directory = test.make_directory("out")
    os.chown(directory, NOBODY, NOBODY)
    env = {**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "SUDO_USER": "nobody"}
    recording = test.record("--", "sh", "-c", "id -u; id -g; id -G", directory=directory, env=env)
    recording.finish()
    expect_equal(recording.stdout.split(), [str(NOBODY)] * 3, "the ids of COMMAND")
    status = os.stat(recording.path)
    expect_equal((status.st_uid, status.st_gid), (NOBODY, NOBODY), "the owner of the profile")


def permissions(path):
    return os.stat(path).st_mode & 0o7777


def convert(test, source, name, *options, **rest):
    path = os.path.join(test.directory, name)
    convert = test.start([test.geckobpf, "convert", source, "-o", path, *options], **rest)
    expect_equal(convert.wait(), 0, f"the exit status of {name}")
    return path


def test_who_may_read(test):
    """Its owner alone, whatever the umask is; or who is asked for."""
    open_to_all = ["sh", "-c", 'umask 0; exec "$@"', "sh"]
    for options, wanted in (((), 0o600), (("--output-mode", "0644"), 0o644), (("--output-mode=640",), 0o640)):
        stream = os.path.join(test.make_directory("stream"), "s.gbpf")
        recording = test.record_running("--stream", stream, *options, "--", test.target("hot"), prefix=open_to_all)
        recording.signal(signal.SIGUSR2)
        recording.wait_for(r"wrote \S*profile-1.json", stream="stderr")
        recording.signal(signal.SIGINT)
        recording.finish(status=None)
        paths = [recording.path, recording.path.replace(".json", "-1.json"), stream]
        paths += [convert(test, stream, f"{wanted}.{suffix}", *options) for suffix in ("json.gz", "folded", "pb.gz")]
        for path in paths:
            expect_equal(oct(permissions(path)), oct(wanted), f"who may read {path} with {options}")


def test_sudo_elsewhere(test):
    """Where the invoking user could not have made it, it stays root's."""
    env = {**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), "SUDO_USER": "nobody"}
    for mode, owner in ((0o755, 0), (0o1777, NOBODY)):
        directory = test.make_directory("out")
        os.chmod(directory, mode)
        recording = test.record("--", "true", directory=directory, env=env)
        recording.finish()
        raw = test.record("--", "true", directory=directory, env=env, output="x.gbpf")
        expect_equal(raw.wait(), 0, "the exit status")
        made = [os.path.join(directory, name) for name in ("x.json", "x.folded")]
        for path in made:
            convert = test.start([test.geckobpf, "convert", raw.path, "-o", path], env=env)
            expect_equal(convert.wait(), 0, f"the exit status of {path}")
        for path in (recording.path, raw.path, *made):
            expect_equal(os.stat(path).st_uid, owner, f"the owner of {path} in a directory with {oct(mode)}")


def test_meta(test):
    recording, target = record_hot(test)
    profile = recording.finish()
    meta = profile.meta
    expect_equal(meta["product"], "hot", "meta.product")
    expect_near(meta["interval"], interval_ms(1000), 1e-5, "meta.interval")
    expect_equal(meta["logicalCPUs"], os.sysconf("SC_NPROCESSORS_ONLN"), "meta.logicalCPUs")
    expect(meta.get("CPUName") and meta.get("oscpu", "").startswith("Linux "), "CPUName or oscpu is missing")
    names = [category["name"] for category in meta["categories"]]
    expect({"Idle", "User", "Kernel"} <= set(names), f"the categories are {names}")
    for key in ("threads", "features", "capacity"):
        expect(key in meta["configuration"], f"meta.configuration.{key} is missing")
    features = meta["configuration"]["features"]
    expect("Samples lost: 0" in features, f"what is lost is not told: {features}")
    expect(any(text.startswith("Options: --rate ") for text in features), f"the options are not told: {features}")
    expect(meta["profilingEndTime"] > meta["profilingStartTime"] >= 0, "the times of the recording")
    profile.expect_nothing_lost()
    expect(profile.main_thread(target.pid).raw["processType"], "processType is missing")
    expect(json.loads(read_profile_bytes(recording.path)), "the profile is empty")


def test_gathering_log(test):
    recording, _ = record_hot(test)
    profile = recording.finish()
    (pid, log), = profile.raw["profileGatheringLog"].items()
    expect_equal(pid, str(recording.pid), "the pid of the gathering log")
    phases = {phase["name"]: phase for phase in log["phases"]}
    expect_equal(list(phases), ["collecting", "symbols", "reading", "writing", "compressing"], "the phases")
    peaks = []
    for phase in phases.values():
        expect_between(phase["duration_ms"], 0, 60000, f"the duration of {phase}")
        expect_between(phase["rss_bytes"], 1e6, phase["peak_rss_bytes"], f"the memory after {phase}")
        peaks.append(phase["peak_rss_bytes"])
    expect(phases["reading"]["duration_ms"] > 0, "reading took no time")
    expect(peaks[0] <= peaks[-1], f"the peak of the memory falls: {peaks}")


def test_provenance(test):
    recording, target = record_hot(test, "--rate", 250, "--user-only")
    log = recording.finish().log()
    expect_equal(log["options"], "--rate 250 --buffer-size 128 --unwind-memory 64 --user-only --symbols=names "
                 f"--off-cpu=off --counters=memory,disk,network --duration 0.5 --pid {target.pid}", "options")
    expect_equal((log["event"], log["period_ns"]), ("cpu-clock", round(interval_ms(250) * 1e6)), "event and period")
    expect_equal(log["kernel_release"], os.uname().release, "kernel_release")
    for name in ("buffer_chunks_made", "buffer_chunks_recycled", "buffer_chunks_destroyed"):
        expect(isinstance(log[name], int), f"{name} is {log[name]!r}")
    expect(all(isinstance(value, str) and value for name, value in log.items() if name.startswith("fallback_")),
           f"fallbacks without a reason: {log}")
    secret = test.record("--duration", "0.3", "--", test.target("hot"), 1, "secret").finish(None)
    expect(secret.log()["options"].endswith(" -- hot"), "the arguments of the command are in the profile")
