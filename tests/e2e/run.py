#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""run.py - runs the end-to-end tests: every function test_* of every test_*.py beside this file.

Usage: run.py [--build DIR] [--list] [--keep] [SUBSTRING...]     (only the tests whose name contains a SUBSTRING)

Prints "ok NAME (SECONDS s)", "not ok NAME: WHY" or "skip NAME: WHY" for each, and last
"N passed, N failed, N skipped". Exits 1 if any failed.

A test takes one argument, a harness.Test, which owns its directory and everything it starts.
"""

import argparse
import importlib
import os
import signal
import sys
import time
import traceback

import harness


def discover():
    here = os.path.dirname(os.path.abspath(__file__))
    for file in sorted(os.listdir(here)):
        if file.startswith("test_") and file.endswith(".py"):
            module = importlib.import_module(file[:-3])
            # In the order they are written in.
            for name, value in vars(module).items():
                if name.startswith("test_") and callable(value):
                    yield f"{file[5:-3]}.{name[5:]}", value


def indent(text):
    return "".join(f"    {line}\n" for line in text.rstrip().splitlines())


def run(name, function, arguments):
    """Returns "passed", "failed" or "skipped"."""
    test = harness.Test(name, os.path.abspath(arguments.build), arguments.keep)
    start = time.monotonic()
    result, line, details = "passed", f"ok {name}", ""
    try:
        function(test)
    except harness.Skip as skip:
        result, line = "skipped", f"skip {name}: {skip}"
    except harness.Failure as failure:
        result, line = "failed", f"not ok {name}: {failure}"
        where = traceback.extract_tb(failure.__traceback__)
        details = "".join(f"at {frame.filename}:{frame.lineno}: {frame.line}\n"
                          for frame in where[1:])
    except Exception as error:  # pylint: disable=broad-except
        result, line = "failed", f"not ok {name}: {type(error).__name__}: {error}"
        details = traceback.format_exc()
    finally:
        left_over = test.close()
    if result == "failed":
        details += test.story()
        if left_over:
            details += "still running at its end, killed: " + ", ".join(left_over) + "\n"
    print(f"{line} ({time.monotonic() - start:.1f} s)")
    if details:
        print(indent(details), end="")
    sys.stdout.flush()
    return result


def main():
    # A runner in the background was started with them ignored, and its children would be too.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keep the tests' directories")
    parser.add_argument("substrings", nargs="*")
    arguments = parser.parse_args()

    harness.adopt_orphans()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name, function in discover():
        if arguments.substrings and not any(part in name for part in arguments.substrings):
            continue
        if arguments.list:
            print(name)
            continue
        counts[run(name, function, arguments)] += 1
    if arguments.list:
        return 0
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
