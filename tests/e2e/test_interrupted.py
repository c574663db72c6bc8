# SPDX-License-Identifier: BSD-2-Clause
"""What a signal interrupted is looked up where it was, not before: it is no caller. In a raw capture as well, by name and by
address, in both formats."""

import gzip
import json
import re
import signal
import subprocess

from harness import Profile, expect, expect_equal, wait_until
from stacks import expect_chain, user_chains
from test_unwind import C_FLAGS, LIBC_START, build_source, process_cpu_s

BESIDE_OTHERS = True

CHAIN = ("main", "spinner", "__restore_rt", "on_signal", "hot_handler")


def capture(test):
    """A raw capture, and the address of spinner()."""
    target = test.start_target(build_source(test, "interrupted.c", "interrupted", "gcc", *C_FLAGS))
    spinner = int(target.wait_for(r"spinner (0x[0-9a-f]+)\n").group(1), 16)
    recording = test.record_running("--pid", target.pid, "--rate", 1000, output="interrupted.gbpf")
    start_s = process_cpu_s(target.pid)
    wait_until(lambda: process_cpu_s(target.pid) > start_s + 1, "a second of CPU time", 60)
    recording.signal(signal.SIGINT)
    expect_equal(recording.wait(), 0, "geckobpf's exit status")
    return recording.path, spinner


def convert(test, path, name, *options):
    output = f"{path}.{name}.json.gz"
    done = subprocess.run([test.geckobpf, "convert", *options, path, "-o", output], capture_output=True, text=True, check=False)
    expect_equal(done.returncode, 0, f"the exit status of convert: {done.stderr}")
    return output


def test_names(test):
    path, _ = capture(test)
    profile = Profile(convert(test, path, "names"))
    expect_chain(profile, *LIBC_START, *CHAIN, least=0.3)
    names = {name for _, chain in user_chains(profile) for name in chain}
    expect("never_called" not in names, f"the function before the one that was interrupted is in {names}")
    client = test.client(convert(test, path, "processed", "--format=processed"))
    threads = [thread for process in client.call("profile", "info", "--all")["processes"] for thread in process["threads"]]
    shown = {function["name"] for thread in threads
             for function in client.call("thread", "functions", "--thread", thread["threadHandle"])["functions"]}
    expect(set(CHAIN) <= shown and "never_called" not in shown, f"the client shows {shown}")


def test_addresses(test):
    """The client takes 1 off the address of every caller, but not in a processed profile."""
    path, spinner = capture(test)
    profile = Profile(convert(test, path, "addresses", "--symbols=addresses"))
    leaves, callers = set(), set()
    for samples, chain in user_chains(profile):
        expect(all(re.fullmatch("0x[0-9a-f]+", name) for name in chain), f"{samples} samples of {chain}")
        leaves.add(int(chain[-1], 16))
        callers.update(int(name, 16) for name in chain[:-1])
    expect(spinner in leaves and spinner not in callers and spinner + 1 in callers,
           f"{spinner:#x} is not among the leaves, or {spinner + 1:#x} not among the callers: {sorted(map(hex, callers))}")
    with gzip.open(convert(test, path, "addresses-processed", "--symbols=addresses", "--format=processed")) as file:
        shared = json.load(file)["shared"]
    found = {address & 0xfff for address in shared["frameTable"]["address"]}
    expect(spinner & 0xfff in found and (spinner - 1) & 0xfff not in found,
           f"addresses in their pages: {sorted(map(hex, found))}")
