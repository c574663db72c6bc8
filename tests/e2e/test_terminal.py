# SPDX-License-Identifier: BSD-2-Clause
"""What a terminal shows in the end: one status line that does not wrap, and a command's own output left alone. And what it
cannot do: stop a recording; or be told what to do by what is recorded."""

import os
import pty
import re
import select
import shutil
import termios

from harness import PATIENCE_S, PYTHON, Profile, expect, expect_equal

BESIDE_OTHERS = True

COLUMNS = 40
SPAWN = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


def run(test, *arguments):
    """What a terminal of COLUMNS got, from geckobpf and its command."""
    path = os.path.join(test.make_directory("out"), "p.json")
    process = test.start([PYTHON, "-c", SPAWN, "sh", "-c", f'stty cols {COLUMNS} rows 24 && exec "$0" "$@"', test.geckobpf,
                          "-o", path, *arguments])
    expect_equal(process.wait(), 0, f"the exit status; it said {process.stdout!r}")
    Profile(path)
    return process.stdout


def show(text):
    """The lines that are to be seen in the end."""
    lines, column = [""], 0
    for part in re.findall(r"\x1b\[K|\r|\n|[^\x1b\r\n]", text):
        if part == "\r":
            column = 0
        elif part == "\n":
            lines.append("")
            column = 0
        elif part == "\x1b[K":
            lines[-1] = lines[-1][:column]
        else:
            if column == COLUMNS:
                lines.append("")
                column = 0
            lines[-1] = lines[-1][:column].ljust(column) + part + lines[-1][column + 1:]
            column += 1
    return lines


def test_narrow(test):
    """Each status line fits, so that the next one replaces it."""
    target = test.start_target("hot")
    text = run(test, "--pid", target.pid, "--duration", "1")
    states = re.findall(r"\r\x1b\[K(  [^\r\n\x1b]*)", text)
    expect(len(states) > 3 and any("samples" in state for state in states), f"no status lines: {text!r}")
    expect(all(len(state) < COLUMNS for state in states), f"lines that are too long: {states}")
    shown = show(text)
    expect(not any("[=" in line or "[>" in line for line in shown), f"a status line stays: {shown}")


def test_output_of_a_command(test):
    """It is on lines of its own, whole, also where it does not end them."""
    script = "i=0; while [ $i -lt 5 ]; do echo line $i; i=$((i + 1)); sleep 0.3; done; printf 'no end'"
    shown = [line.rstrip() for line in show(run(test, "--", "sh", "-c", script))]
    for line in [f"line {number}" for number in range(5)] + ["no end"]:
        expect_equal(shown.count(line), 1, f"how often '{line}' is a line of {shown}")
    expect(shown[shown.index("no end") + 1].startswith("geckobpf: wrote"), f"what comes after it: {shown}")
    expect_equal([line for line in shown if "[=" in line or "[>" in line], [], "what stays of a bar")


def test_command_that_goes_on(test):
    """It writes while the profile is saved, too."""
    script = "i=0; while [ $i -lt 150 ]; do echo line $i; i=$((i + 1)); sleep 0.01; done"
    shown = [line.rstrip() for line in show(run(test, "--duration", "0.5", "--", "sh", "-c", script))]
    lines = [line for line in shown if line.startswith("line ")]
    expect_equal(lines, [f"line {number}" for number in range(150)], "the lines of the command")


def start_with_stderr(test, fd):
    path = os.path.join(test.make_directory("out"), "p.json")
    target = test.start_target("hot")
    return path, test.start(["sh", "-c", f'exec "$0" "$@" 2>&{fd}', test.geckobpf, "--pid", target.pid, "--duration", "2",
                             "-o", path, "--top", "1"], pass_fds=[fd])


def expect_whole(path, process):
    expect_equal(process.wait(), 0, "the exit status")
    profile = Profile(path)
    expect(profile.duration_ms >= 2000, f"the recording ends after {profile.duration_ms} ms")
    expect_equal(sum(len(thread.samples()) for thread in profile.threads), profile.log()["timer_ticks"], "samples in the file")


def test_paused(test):
    """Ctrl-S: it shows nothing any more, and takes nothing."""
    terminal, stderr = pty.openpty()
    path, process = start_with_stderr(test, stderr)
    said = b""
    while b"Hz" not in said:
        expect(select.select([terminal], [], [], PATIENCE_S)[0], f"it says {said} only")
        said += os.read(terminal, 4096)
    termios.tcflow(stderr, termios.TCOOFF)
    expect_whole(path, process)
    os.close(terminal)
    os.close(stderr)


def test_full_pipe(test):
    """Nobody reads what it says, from the beginning on."""
    reader, stderr = os.pipe()
    os.set_blocking(stderr, False)
    try:
        while True:
            os.write(stderr, b"x" * 512)
    except BlockingIOError:
        os.set_blocking(stderr, True)
    path, process = start_with_stderr(test, stderr)
    expect_whole(path, process)
    os.close(reader)
    os.close(stderr)


def expect_harmless(output, what):
    """Text without a character that a terminal would obey, or that writes from right to left."""
    text = output.decode("utf-8", errors="strict")
    found = re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]", text)
    expect_equal(found, [], f"what is not for terminals in {what}: {text!r}")


def test_hostile_names(test):
    """Of programs, threads, files and arguments: escape sequences, newlines, bad UTF-8, a hyphen that would begin an option."""
    directory = os.fsencode(test.make_directory("\x1b]0;title\x07\x9b31m"))
    for name in (b"-\x1b[2J\r\n\xff\xc2\x9bm", b"-\xe2\x80\xae\x7f\xed\xa0\x80x"):
        program = os.path.join(directory, name)
        shutil.copy(test.target("hot"), program)
        out = test.make_directory("out")
        first = test.start(["sh", "-c", 'exec "$@"', "sh", test.geckobpf, "-v", "--top", "3", "--", os.fsdecode(program), "0.5",
                            "\x1b[31m", "a\nb"], cwd=out)
        expect_equal(first.wait(), 0, "the exit status of record")
        made, = os.listdir(os.fsencode(out))
        expect(not made.startswith(b"-"), f"the file is called {made}")
        expect_harmless(made, "the name of the file")
        outputs = [(bytes(first.out), "stdout of record"), (bytes(first.err), "stderr of record")]
        for options in ((), ("--folded",), ("--by", "process"), ("--each-thread",)):
            report = test.start([test.geckobpf, "report", *options, os.path.join(out, os.fsdecode(made))])
            report.wait()
            outputs += [(bytes(report.out), f"report {options}"), (bytes(report.err), f"stderr of report {options}")]
        for output, what in outputs:
            expect_harmless(output, what)
