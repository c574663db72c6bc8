# SPDX-License-Identifier: BSD-2-Clause
"""The manual page and --help say the same."""

import os
import re
import subprocess

from harness import REPOSITORY, expect_equal

BESIDE_OTHERS = True

PAGE = os.path.join(REPOSITORY, "docs", "geckobpf.1")


def options_of_help(test, *command):
    """The long options."""
    text = subprocess.run([test.geckobpf, *command, "--help"], capture_output=True, text=True, check=True).stdout
    columns = [re.split(r"\s{2,}", line.strip())[0] for line in text.splitlines() if re.match(r" {2,6}-", line)]
    return {name for column in columns for name in re.findall(r"--([a-z][a-z-]*)", column)}


def options_of_page():
    with open(PAGE, encoding="utf-8") as file:
        lines = [line for line in file if line.startswith(".It Fl")]
    return {name for line in lines for name in re.findall(r"-([a-z]{2}[a-z-]*)", line)}


def test_options(test):
    helped = set().union(*(options_of_help(test, *command) for command in ((), ("report",), ("convert",))))
    expect_equal(sorted(options_of_page()), sorted(helped), "the options in the manual page")


def test_markup(test):
    test.need("groff")
    done = subprocess.run(["groff", "-mdoc", "-Tutf8", "-ww", "-z", PAGE], capture_output=True, text=True, check=False)
    expect_equal((done.returncode, done.stderr), (0, ""), "what groff says of it")
