# SPDX-License-Identifier: BSD-2-Clause
"""What code is called, and where it is said to be, if there is no name or none is wanted."""

import json
import os
import re
import subprocess

from harness import Profile, expect, expect_equal, read_profile_bytes
from test_unwind import CHAIN, build_chain

C_FLAGS = ("-std=gnu11", "-g", "-O2", "-fomit-frame-pointer", "-Wl,--build-id", "-ITARGETS", "SOURCE", "-o", "OUTPUT")
# Where a linker puts the code: GNU ld begins it with a page of the file, lld in the middle of one, at another address.
LAYOUTS = {"ld": (), "ld-exec": ("-no-pie",), "lld": ("-fuse-ld=lld",), "lld-exec": ("-fuse-ld=lld", "-no-pie")}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def base_of(path):
    """The address of the file's lowest page."""
    return min(int(address, 16) for address in re.findall(r"^ *LOAD +\S+ (\S+)", run("readelf", "-lW", path), re.M)) & ~0xfff


def functions_at(path, addresses):
    """What addr2line calls the functions at addresses of the file's own numbering."""
    return set(run("addr2line", "-fe", path, *map(hex, addresses)).splitlines()[::2])


def record_stripped(test, name, *options):
    """A raw capture of a program that is stripped, and a file with its symbols."""
    test.need("addr2line", "strip")
    path = build_chain(test, "gcc", *C_FLAGS, *options, name=name)
    symbols = path + ".symbols"
    os.rename(path, symbols)
    run("strip", "-o", path, symbols)
    target = test.start_target(path)
    recording = test.record("--pid", target.pid, "--duration", "0.5", output=name + ".gbpf")
    expect_equal(recording.wait(), 0, f"geckobpf's exit status: {recording.stderr}")
    return recording.path, symbols


def convert(test, raw, *options):
    output = os.path.join(test.make_directory("converted"), "profile.json")
    process = test.start([test.geckobpf, "convert", raw, *options, "-o", output])
    expect_equal(process.wait(), 0, f"the exit status of convert: {process.stderr}")
    return output


# ---- addresses -------------------------------------------------------------------------------------------------------
def gecko_addresses(path, name):
    """Relative addresses, as the front-end makes them for a symbol server. A caller's is where it goes on: less 1."""
    found = set()
    for thread in Profile(path).threads:
        libs = [lib for lib in thread.process["libs"] if lib["name"] == name]
        for row in thread.samples():
            frames = [int(location, 16) for location, category in thread.frames(row.stack) if category == "User"]
            for number, address in enumerate(frames, 1):
                address -= number < len(frames)
                found |= {address - lib["start"] + lib["offset"] for lib in libs if lib["start"] <= address < lib["end"]}
    return found


def processed_addresses(path, name):
    profile = json.loads(read_profile_bytes(path))
    lib = [lib["name"] for lib in profile["libs"]].index(name)
    table = profile["shared"]["frameTable"]
    return {address for address, of in zip(table["address"], table["lib"]) if of == lib}


def check_addresses(test, layout):
    raw, symbols = record_stripped(test, layout, *LAYOUTS[layout])
    base = base_of(symbols)
    gecko = gecko_addresses(convert(test, raw, "--symbols=addresses"), layout)
    processed = processed_addresses(convert(test, raw, "--symbols=addresses", "--format=processed"), layout)
    expect_equal(gecko, processed, "addresses in the one format, and in the other")
    found = functions_at(symbols, {base + address for address in gecko})
    expect(found >= set(CHAIN) and "??" not in found, f"addresses are in {found}, not in {CHAIN}")


def test_addresses_ld(test):
    check_addresses(test, "ld")
    check_addresses(test, "ld-exec")


def test_addresses_lld(test):
    """All of what rustc makes has this layout."""
    check_addresses(test, "lld")
    check_addresses(test, "lld-exec")
