# SPDX-License-Identifier: BSD-2-Clause
"""What a terminal shows in the end: one status line that does not wrap, and a command's own output left alone."""

import os
import re

from harness import PYTHON, Profile, expect, expect_equal

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
