# SPDX-License-Identifier: BSD-2-Clause
"""The command line, word by word: what was given, what it says, how it ends. A wrong command line is exit status 2, one
line, and nothing is started or written."""

import os
import pty

from harness import PYTHON, Profile, expect, expect_equal, expect_match, wait_until

BESIDE_OTHERS = True

OPEN = ("load FILE at https://profiler.firefox.com (it stays in the browser), or as text: geckobpf report FILE")
TABLES = "two profiles as tables: geckobpf report --json FILE, once for each"
MERGE = "one profile of several raw captures: geckobpf convert FILE... -o OUT.json.gz"
FORMS = ".json.gz, .json, .json.zst or .gbpf file, or - for stdout"
TIME = "not a time; give seconds, such as 10 or 0.5, or 90s, 2m"
MIB = "out of range; give 1 to 1048576 MiB, such as 64, 64M or 1G"

# Words that look like commands, and what they are told.
RESERVED = {
    "agent": "one that runs all the time: geckobpf --all --ring --control=FD",
    "annotate": OPEN,
    "attach": "a process that runs: geckobpf --pid PID",
    "bench": "it is in the source tree: make bench",
    "capture": "a profile of what a recording has so far: kill -USR2 its PID, or --control",
    "compare": TABLES,
    "diff": TABLES,
    "doctor": "what is missing here is said by: geckobpf -o /dev/null -- /bin/true",
    "gather": MERGE,
    "list": "processes are listed by ps and pgrep; geckobpf --pid NAME finds them by name",
    "load": OPEN,
    "merge": MERGE,
    "open": OPEN,
    "run": "a command: geckobpf -- COMMAND",
    "script": "all stacks as text: geckobpf report --folded FILE",
    "serve": OPEN,
    "show": OPEN,
    "start": "a recording that is driven by others: geckobpf --control=FD",
    "stat": "CPU time by process: geckobpf report --by process FILE",
    "status": "a recording shows how it is on the terminal; --control asks it",
    "stop": "Ctrl-C, or kill -INT the recording",
    "top": "the hottest functions: geckobpf report FILE, or when recording: --top N",
    "trace": "what was recorded, stack by stack: geckobpf report --folded FILE",
    "view": OPEN,
}

# (arguments, what it says), all with exit status 2.
WRONG = [
    # options
    ("--pdi 5", "--pdi: not an option; did you mean --pid? (see geckobpf --help)"),
    ("--duratoin=5", "--duratoin=5: not an option; did you mean --duration? (see geckobpf --help)"),
    ("--xyzzy", "--xyzzy: not an option; see geckobpf --help"),
    ("-z", "-z: not an option; see geckobpf --help"),
    ("-qz", "-z: not an option; see geckobpf --help"),
    ("-qzv", "-z: not an option; see geckobpf --help"),
    ("--p", "--p: --pid, --profile-name, --progress? (see geckobpf --help)"),
    ("--s", "--s: --stream, --strict, --symbols, --symbol-dir? (see geckobpf --help)"),
    ("--all=3", "--all=3: it has no value; give --all"),
    ("-p", "-p: its value is missing; give --pid=PID|NAME[,...]"),
    ("--pid", "--pid: its value is missing; give --pid=PID|NAME[,...]"),
    ("-qp", "-p: its value is missing; give --pid=PID|NAME[,...]"),
    ("--counters=memory,disc -- true",
     "--counters=memory,disc: not known; give memory, faults, switches, disk, network, all or none"),
    ("--counters= -- true", "--counters=: not known; give memory, faults, switches, disk, network, all or none"),
    ("--rate", "--rate: its value is missing; give --rate=HZ"),
    ("--freq", "--freq: its value is missing; give --rate=HZ"),
    ("--all -o", "-o: its value is missing; give --output=FILE"),
    *((f"--all --output-mode {mode}", f"--output-mode {mode}: not a mode of a file; give who may read and write it, beside its "
       "owner, such as 0640 or 0644") for mode in ("x", "0", "44", "0700", "04600", "00600", "+600", "rw", "0644x", "888")),
    ("convert x.gbpf -o x.json --output-mode 7", "--output-mode 7: not a mode of a file; give who may read and write it, beside "
     "its owner, such as 0640 or 0644"),
    ("-g --all", "-g: stacks are always recorded; leave it out"),
    ("--call-graph=dwarf --all", "-g: stacks are always recorded; leave it out"),
    ("report --tpo 5 f.json", "--tpo: not an option; did you mean --top? (see geckobpf report --help)"),
    ("report --top", "--top: its value is missing; give --top=N"),
    ("convert --ouptut=x", "--ouptut=x: not an option; did you mean --output? (see geckobpf convert --help)"),
    # whom
    ("-o p.json", "nothing to profile: give --pid PID, --all, or -- COMMAND (see --help)"),
    ("--all --pid 5", "more than one thing to profile: give only one of --pid, --all and -- COMMAND"),
    ("--pid 0", "--pid 0: '0' is not a process id; give one from 1 to 4194304"),
    ("--pid 1,99999999999999999999", "--pid 1,99999999999999999999: '99999999999999999999' is not a process id; give one "
     "from 1 to 4194304"),
    ("--pid -d 5", "--pid -d: '-d' is no process id, and no name"),
    ("--pid=", "--pid '': no process; give ids or names, separated by commas or blanks"),
    ("--pid=,", "--pid ',': no process; give ids or names, separated by commas or blanks"),
    ("--pid a-name-of-nobody", "--pid a-name-of-nobody: no process is called 'a-name-of-nobody', and it is no process id; "
     "look it up with pgrep or ps"),
    # words
    ("vim x", "vim: not a command of geckobpf; to profile a program: geckobpf -- vim ..., to profile a process: --pid"),
    ("-d 5 vim x", "vim: not a command of geckobpf; to profile a program: geckobpf -- vim ..., to profile a process: --pid"),
    ("1234", "1234: not a command of geckobpf; to profile a program: geckobpf -- 1234 ..., to profile a process: --pid"),
    ("reprot f.json", "reprot: not a command of geckobpf; did you mean report?"),
    ("convrt f.gbpf", "convrt: not a command of geckobpf; did you mean convert?"),
    ("help xyzzy", "xyzzy: not a command of geckobpf; to profile a program: geckobpf -- xyzzy ..., to profile a process: "
     "--pid"),
    # how
    ("--all --rate 0", "--rate 0: out of range; give 1 to 20000 samples a second"),
    ("--all --rate 20001", "--rate 20001: out of range; give 1 to 20000 samples a second"),
    ("--all --rate 1k", "--rate 1k: out of range; give 1 to 20000 samples a second"),
    ("--all -d 0", f"--duration 0: {TIME}"),
    ("--all -d 0s", f"--duration 0s: {TIME}"),
    ("--all -d -1", f"--duration -1: {TIME}"),
    ("--all -d 1x", f"--duration 1x: {TIME}"),
    ("--all -d nan", f"--duration nan: {TIME}"),
    ("--all -d inf", f"--duration inf: {TIME}"),
    ("--all -d 0x10", f"--duration 0x10: {TIME}"),
    ("--all -d 2000000000", f"--duration 2000000000: {TIME}"),
    ("--all --delay 5y", f"--delay 5y: {TIME}"),
    ("--all --buffer-size 0", f"--buffer-size 0: {MIB}"),
    ("--all --buffer-size 512K", f"--buffer-size 512K: {MIB}"),
    ("--all --buffer-size 1.5M", f"--buffer-size 1.5M: {MIB}"),
    ("--all --buffer-size 2T", f"--buffer-size 2T: {MIB}"),
    ("--all --unwind-memory 2G", "--unwind-memory 2G: out of range; give 4 to 1024 MiB, such as 64, 64M or 1G"),
    ("--all --top many", "--top many: not a number; give a count, such as 10"),
    ("--all --progress=dots", "--progress=dots: not known; give bar, json or none"),
    ("--all --control=77", "--control=77: not an open descriptor; give the number of a socket, or of two pipes, such as 3,4"),
    # what to write
    ("--all -o p.txt", f"p.txt: unknown suffix; give a {FORMS}"),
    ("--all -o .json", f".json: unknown suffix; give a {FORMS}"),
    ("--all -o p.folded", "p.folded: convert writes such files; record with -o FILE.gbpf, then: geckobpf convert FILE.gbpf "
     "-o p.folded"),
    ("--all -o p.pb.gz", "p.pb.gz: convert writes such files; record with -o FILE.gbpf, then: geckobpf convert FILE.gbpf "
     "-o p.pb.gz"),
    ("--all --stream p.json", "p.json: a stream is a raw capture; give a .gbpf file"),
    ("--all --stream p.gbpf -o p.gbpf", "p.gbpf: --stream and --output are two files; give it once, or another"),
    ("--all --format=html", "--format=html: not known; give gecko or processed"),
    ("--all --format=gecko -o p.gbpf", "--format: p.gbpf is a raw capture; give it to geckobpf convert"),
    ("--all --symbols=all", "--symbols=all: not known; give names or addresses"),
    ("--all --symbol-dir=/nowhere", "--symbol-dir /nowhere: not a directory that can be read"),
    # report, convert
    ("report", "no file: give a profile that geckobpf wrote (see geckobpf report --help)"),
    ("report --top x f.json", "--top x: not a number; give a count, such as 10"),
    ("report --by=size f.json", "--by=size: not known; give function, thread or process"),
    ("report --from 1x f.gbpf", f"--from 1x: {TIME}"),
    ("report --from 2 --to 1 f.gbpf", "--to: not after --from; nothing is left"),
    ("convert -o p.json", "no file: give a profile that geckobpf wrote (see geckobpf convert --help)"),
    ("convert f.gbpf", "no output: give one with -o (see geckobpf convert --help)"),
    ("convert f.gbpf -o p.txt", "p.txt: unknown suffix; give a .json.gz (Firefox Profiler; also .json, .json.zst), .pb.gz "
     "(pprof) or .folded (flame graphs) file"),
    ("convert f.json.gz -o f.json", "f.json.gz: a profile already; zcat or zstdcat unpacks it, and -o OUT.folded or "
     "OUT.pb.gz makes something else of it"),
    ("convert f.gbpf --cpu -o p.pb.gz", "--cpu: p.pb.gz has samples and CPU time; give it for a .folded file"),
    ("convert f.gbpf --format=gecko -o p.folded", "--format: p.folded has one format only; give it for a .json.gz file"),
]

# (GECKOBPF_OPTIONS, arguments, what it says)
WRONG_VARIABLE = [
    ("--bogus", "--all", "GECKOBPF_OPTIONS: --bogus: not an option; see geckobpf --help"),
    ("-q --duratoin 5", "--all", "GECKOBPF_OPTIONS: --duratoin: not an option; did you mean --duration? (see geckobpf --help)"),
    ("--rate abc", "--all", "GECKOBPF_OPTIONS: --rate abc: out of range; give 1 to 20000 samples a second"),
    ("vim", "--all", "GECKOBPF_OPTIONS: vim: not an option; give a command after --"),
    ("-q", "--all --bogus", "--bogus: not an option; see geckobpf --help"),
    ("-q", "-zq", "-z: not an option; see geckobpf --help"),
    ("--all", "--pid 5", "more than one thing to profile: give only one of --pid, --all and -- COMMAND; GECKOBPF_OPTIONS "
     "counts, too"),
]


def run(test, *arguments, **rest):
    """geckobpf with these arguments; returns (status, stdout, stderr)."""
    process = test.start([test.geckobpf, *arguments], **rest)
    process.wait()
    while process.read(0.2):
        pass
    return process.status, process.stdout, process.stderr


def check(test, directory, arguments, said, **rest):
    expect_equal(run(test, *arguments, cwd=directory, **rest), (2, "", f"geckobpf: {said}\n"),
                 f"what geckobpf {' '.join(arguments)} does")


def test_wrong(test):
    directory = test.make_directory("out")
    for arguments, said in WRONG:
        check(test, directory, arguments.split(), said)
    expect_equal(os.listdir(directory), [], "the directory")


def test_wrong_variable(test):
    directory = test.make_directory("out")
    for variable, arguments, said in WRONG_VARIABLE:
        check(test, directory, arguments.split(), said, env={**os.environ, "GECKOBPF_OPTIONS": variable})


def test_reserved(test):
    """Programs of such names are there, and are not started unless that is clear."""
    directory = test.make_directory("out")
    for word in RESERVED:
        test.write_file(os.path.join("out", word), f"#!/bin/sh\necho started {word}\n")
        os.chmod(os.path.join(directory, word), 0o755)
    env = {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}
    for word, hint in RESERVED.items():
        said = f"{word}: not a command of geckobpf; {hint} (a program of that name: geckobpf -- {word})"
        check(test, directory, [word, "f.json.gz"], said, env=env)
        check(test, directory, ["-d", "1", word], said, env=env)
        check(test, directory, ["help", word], said, env=env)
    for arguments in (["--", "view"], ["record", "view"], ["./view"], ["record", "./view"], [os.path.join(directory, "view")]):
        status, out, said = run(test, *arguments, cwd=directory, env=env)
        expect_equal((status, out), (0, "started view\n"), f"what {arguments} does: {said}")


def test_asked_for_help(test):
    directory = test.make_directory("out")
    for arguments in (["--help"], ["-h"], ["-?"], ["help"], ["help", "record"], ["help", "help"], ["record", "-h"]):
        status, out, said = run(test, *arguments, cwd=directory)
        expect_equal((status, said), (0, ""), f"what {arguments} does")
        expect(out.startswith("Usage: geckobpf [OPTION...] --pid PID"), f"{arguments}: {out[:200]}")
    for command in ("report", "convert"):
        for arguments in (["help", command], [command, "--help"], [command, "-h"]):
            status, out, said = run(test, *arguments, cwd=directory)
            expect_equal((status, said), (0, ""), f"what {arguments} does")
            expect(out.startswith(f"Usage: geckobpf {command} [OPTION...]"), f"{arguments}: {out[:200]}")
    for arguments in (["--version"], ["-V"], ["version"], ["report", "-V"]):
        status, out, said = run(test, *arguments, cwd=directory)
        expect_equal((status, said), (0, ""), f"what {arguments} does")
        expect_match(r"^geckobpf \d+\.\d+\S*\n$", out, "the version")


def test_nothing_asked_for(test):
    """Who types geckobpf and nothing else is told what to type."""
    status, out, said = run(test)
    expect_equal((status, out), (2, ""), "exit status and stdout")
    lines = said.splitlines()
    expect_equal(lines[0], "geckobpf: nothing to profile; for example:", "the first line")
    for text in ("sudo geckobpf -- ", "sudo geckobpf --pid ", "sudo geckobpf --all ", "https://profiler.firefox.com", "--help"):
        expect(text in said, f"no {text} in {said}")
    expect(all(len(line) <= 80 for line in lines), f"lines that are too long: {lines}")


# ---- what is accepted ------------------------------------------------------------------------------------------------
def test_units(test):
    target = test.start_target("hot")
    for options, wanted in (("-d 300ms --buffer-size 8M", "--buffer-size 8 "),
                            ("-d 0.3s --buffer-size=1G", "--buffer-size 1024 "),
                            ("-d .3 --unwind-memory 8MiB", "--unwind-memory 8 "), ("-d 0.005m", "--duration 0.3")):
        profile = test.record("--pid", target.pid, *options.split()).finish()
        expect(wanted in f"{profile.log()['options']} ", f"{options}: {profile.log()['options']}")


def test_pids(test):
    """Lists as other programs print them."""
    first, second = test.start_target("hot"), test.start_target("hot")
    for separator in (",", "\n", " ", ", ", "\n\n"):
        profile = test.record("--pid", f"{first.pid}{separator}{second.pid}{separator}", "-d", "0.2").finish()
        expect_equal(profile.pids(), {first.pid, second.pid}, f"the processes with {separator!r} between them")


def test_names(test):
    """Processes by name: the file that they run, or what they call themselves; all of that name."""
    path = test.copy_target("hot", "geckobpf-named")
    first, second = test.start_target(path), test.start_target(path)
    recording = test.record("--pid", "geckobpf-named", "-d", "0.3")
    expect_equal(recording.finish().pids(), {first.pid, second.pid}, "the processes of that name")
    said = recording.stderr.splitlines()[0]
    expect_match(r"^geckobpf: --pid geckobpf-named: 2 processes: \d+ \d+$", said, "what it says")
    expect_equal(set(said.split()[-2:]), {str(first.pid), str(second.pid)}, "the processes it names")
    script = "open('/proc/self/comm', 'w').write('geckobpf-self\\n'); print('ready 1', flush=True)\nwhile True: pass"
    third = test.start([PYTHON, "-c", script])
    third.wait_for("ready")
    recording = test.record("--pid", f"geckobpf-self,{first.pid}", "-d", "0.2")
    expect_equal(recording.finish().pids(), {third.pid, first.pid}, "the process that calls itself so, and another")
    check(test, test.directory, ["--pid", "geckobpf-nmaed"],
          "--pid geckobpf-nmaed: no process is called 'geckobpf-nmaed'; did you mean geckobpf-named?")


# ---- a terminal ------------------------------------------------------------------------------------------------------
def test_no_profile_on_the_terminal(test):
    """A profile is not for the eyes, unless that is asked for."""
    directory = test.make_directory("out")
    status, _, said = run(test, "-o", "c.gbpf", "--", "/bin/true", cwd=directory)
    expect_equal(status, 0, f"the exit status: {said}")
    own, terminal = pty.openpty()
    test.at_end += [lambda: os.close(own), lambda: os.close(terminal)]
    refused = "-o -: the profile would go to the terminal; redirect it, give a file, or add --force"
    for arguments in (["-o", "-", "--", "/bin/true"], ["-o", "/dev/stdout", "--all"], ["convert", "c.gbpf", "-o", "-"]):
        process = test.start([test.geckobpf, *arguments], cwd=directory, stdout=terminal)
        expect_equal(process.wait(), 2, f"the exit status of {arguments}")
        expect_equal(process.stderr, f"geckobpf: {refused}\n", f"what {arguments} says")
    process = test.start([test.geckobpf, "convert", "c.gbpf", "-o", "-", "--force"], cwd=directory, stdout=terminal)
    got = b""

    def read():
        nonlocal got
        got += os.read(own, 1 << 16)
        return got.rstrip().endswith(b"}")
    wait_until(read, "a profile on the terminal")
    expect_equal(process.wait(), 0, "the exit status with --force")
    status, out, _ = run(test, "convert", "c.gbpf", "-o", "/dev/stdout", cwd=directory)
    expect_equal(status, 0, "the exit status without a terminal")
    Profile(test.write_file("p.json", out))
