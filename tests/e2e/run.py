#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""run.py - runs the end-to-end tests: every function test_* of every test_*.py beside this file.

Usage: run.py [--build DIR] [--list] [--keep] [--at-once N] [SUBSTRING...]     (only the tests whose name contains a SUBSTRING)

Prints "ok NAME (SECONDS s)", "not ok NAME: WHY" or "skip NAME: WHY" for each, and last
"N passed, N failed, N skipped". Exits 1 if any failed.

A test takes one argument, a harness.Test, which owns its directory and everything it starts. Each has a process of its own.
First come those that share the machine, N at once: those of files with BESIDE_OTHERS = True that are not marked
@harness.alone. Then the others, one after the other, on a machine that is theirs.
"""

import argparse
import collections
import importlib
import os
import signal
import sys
import tempfile
import time
import traceback

import harness

RESULTS = ("passed", "failed", "skipped")
Chosen = collections.namedtuple("Chosen", "name function is_alone")


def discover(substrings):
    here = os.path.dirname(os.path.abspath(__file__))
    for file in sorted(os.listdir(here)):
        if file.startswith("test_") and file.endswith(".py"):
            module = importlib.import_module(file[:-3])
            # In the order they are written in; what is imported from another file is that file's.
            for name, function in vars(module).items():
                full_name = f"{file[5:-3]}.{name[5:]}"
                if name.startswith("test_") and callable(function) and any(part in full_name for part in substrings or [""]):
                    yield Chosen(full_name, function, harness.is_alone(function))


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


# ---- each in its process ---------------------------------------------------------------------------------------------
def start(chosen, arguments):
    """Returns the pid of the test's process, whose exit status is an index of RESULTS, and the file with what it prints."""
    output = tempfile.TemporaryFile()
    pid = os.fork()
    if pid:
        return pid, output
    status = len(RESULTS)
    try:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        harness.adopt_orphans()
        status = RESULTS.index(run(chosen.name, chosen.function, arguments))
    finally:
        sys.stdout.flush()
        os._exit(status)


def finish(chosen, status, output):
    """Prints what it printed; returns "passed", "failed" or "skipped"."""
    with output:
        output.seek(0)
        print(output.read().decode(errors="replace"), end="")
    result = os.waitstatus_to_exitcode(status)
    if result not in range(len(RESULTS)):
        print(f"not ok {chosen.name}: its process ended with status {result}")
        result = RESULTS.index("failed")
    sys.stdout.flush()
    return RESULTS[result]


def run_all(tests, at_once, arguments):
    """So many at once; counts their results."""
    waiting, running, counts = collections.deque(tests), {}, collections.Counter()
    while waiting or running:
        while waiting and len(running) < at_once:
            chosen = waiting.popleft()
            pid, output = start(chosen, arguments)
            running[pid] = chosen, output
        pid, status = os.wait()
        chosen, output = running.pop(pid)
        counts[finish(chosen, status, output)] += 1
    return counts


def main():
    # A runner in the background was started with them ignored, and its children would be too.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keep the tests' directories")
    parser.add_argument("--at-once", type=int, default=os.cpu_count() + 1, help="of those that share the machine")
    parser.add_argument("substrings", nargs="*")
    arguments = parser.parse_args()

    tests = list(discover(arguments.substrings))
    if arguments.list:
        print("".join(f"{chosen.name}\n" for chosen in tests), end="")
        return 0
    counts = run_all([chosen for chosen in tests if not chosen.is_alone], arguments.at_once, arguments)
    counts += run_all([chosen for chosen in tests if chosen.is_alone], 1, arguments)
    print(", ".join(f"{counts[result]} {result}" for result in RESULTS))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
