# SPDX-License-Identifier: BSD-2-Clause
"""What code is called, and where it is said to be, if there is no name or none is wanted."""

import json
import os
import re
import subprocess

from harness import REPOSITORY, Profile, expect, expect_equal, expect_match, function_name, read_profile_bytes
from test_unwind import CHAIN, build_chain, build_go, build_source

BESIDE_OTHERS = True

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
            frames = thread.frames(row.stack)
            for number, (location, category) in enumerate(frames, 1):
                if category != "User":
                    continue
                address = int(location, 16) - (number < len(frames))
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


# ---- functions without symbols -----------------------------------------------------------------------------------------
def user_functions(path):
    """All names of user code, without their libs; in both formats."""
    profile = json.loads(read_profile_bytes(path))
    if "shared" in profile:
        strings, table = profile["shared"]["stringArray"], profile["shared"]["frameTable"]
        user = [category["name"] for category in profile["meta"]["categories"]].index("User")
        functions = {function for function, category in zip(table["func"], table["category"]) if category == user}
        return {strings[profile["shared"]["funcTable"]["name"][function]] for function in functions}
    return {function_name(frame) for thread in Profile(path).threads for _, (frame, category) in thread.stacks()
            if category == "User"}


def check_starts(test, layout):
    """Code of the stripped program is told by function: one name for all addresses, where addr2line finds its start."""
    raw, symbols = record_stripped(test, layout, *LAYOUTS[layout])
    starts = {}
    for line in run("nm", symbols).splitlines():
        address, _, name = line.rpartition(" ")
        if name in (*CHAIN, "_start"):
            starts[name] = f"{layout}!fn@{int(address.split()[0], 16):#x}"
    for options in ((), ("--format=processed",)):
        found = {name for name in user_functions(convert(test, raw, *options)) if name.startswith(layout)}
        expect_equal(found, set(starts.values()), f"code of the program, converted with {options}")


def test_stripped(test):
    for layout in LAYOUTS:
        check_starts(test, layout)


def test_stripped_in_client(test):
    raw, _ = record_stripped(test, "ld")
    for options in ((), ("--format=processed",)):
        client = test.client(convert(test, raw, *options))
        (handle,) = [handle for _, _, _, handle in client.threads()]
        hottest = client.functions(handle)[0]
        expect_match(r"^ld!fn@0x[0-9a-f]+", hottest["name"], f"the client's hottest function, {options}")
        expect_equal(hottest["library"], "ld", f"the library of it, {options}")


def test_stripped_go(test):
    """Go's own table has the names that the symbols had."""
    target = test.start_target(build_go(test, "hot.go", "hot-go", "-ldflags=-s -w"))
    recording = test.record("--pid", target.pid, "--duration", "0.7", output="go.gbpf")
    expect_equal(recording.wait(), 0, f"geckobpf's exit status: {recording.stderr}")
    for options in ((), ("--format=processed",)):
        found = user_functions(convert(test, recording.path, *options))
        expect(found >= {"main.hotInner", "main.hotOuter", "runtime.goexit"}, f"names are {sorted(found)}")
        expect(not [name for name in found if "0x" in name], f"names with addresses: {sorted(found)}")


def source_lines(path):
    """In the processed format: the lines that the frames of each function have, by (file's name, function)."""
    shared = json.loads(read_profile_bytes(path))["shared"]
    texts, sources, functions, frames = (shared[key] for key in ("stringArray", "sources", "funcTable", "frameTable"))
    found = {}
    for function, line in zip(frames["func"], frames["line"]):
        source = functions["source"][function]
        if source is not None:
            file = os.path.basename(texts[sources["filename"][source]])
            found.setdefault((file, texts[functions["name"][function]]), set()).add(line)
    return found


def test_go_lines(test):
    """Stripped or not, code is where Go's table says. hotOuter() and hotInner() are as long as they are in the source."""
    with open(os.path.join(REPOSITORY, "tests", "targets", "lang", "hot.go"), encoding="utf-8") as file:
        source = file.read().splitlines()
    inner, outer, end = (next(number for number, line in enumerate(source, 1) if line.startswith(start))
                         for start in ("func hotInner(", "func hotOuter(", "func work("))
    for name, flags in (("hot-go", ()), ("hot-go-stripped", ("-ldflags=-s -w",))):
        target = test.start_target(build_go(test, "hot.go", name, *flags))
        recording = test.record("--pid", target.pid, "--duration", "0.7", output=f"{name}.gbpf")
        expect_equal(recording.wait(), 0, f"geckobpf's exit status: {recording.stderr}")
        found = source_lines(convert(test, recording.path, "--format=processed"))
        for function, (first, last) in {"main.hotInner": (inner, outer), "main.hotOuter": (outer, end)}.items():
            lines = found.get(("hot.go", function), set()) - {None}
            expect(lines and all(first < line < last for line in lines), f"lines of {function}, {name}: {lines} {found}")
            expect_equal([file for file, of in found if of == function], ["hot.go"], f"the files of {function}")


# ---- files -----------------------------------------------------------------------------------------------------------
def test_started_by_a_link(test):
    """The program is called what it was started as, not what the link leads to; its libraries are called what they are."""
    test.copy_target("hot", "real-name")
    link = os.path.join(test.directory, "link-to-hot")
    os.symlink("real-name", link)
    target = test.start_target(link)
    recording = test.record("--pid", target.pid, "--duration", "0.3", output="link.gbpf")
    expect_equal(recording.wait(), 0, f"geckobpf's exit status: {recording.stderr}")
    thread = Profile(convert(test, recording.path)).main_thread(target.pid)
    frames = {location for _, (location, category) in thread.stacks() if category == "User"}
    expect("hot_inner (in link-to-hot)" in frames, f"frames are {sorted(frames)}")
    profile = json.loads(read_profile_bytes(convert(test, recording.path, "--format=processed")))
    resources = {profile["shared"]["stringArray"][name] for name in profile["shared"]["resourceTable"]["name"]}
    expect("link-to-hot" in resources and "real-name" not in resources, f"resources are {resources}")


def test_hint(test):
    """One line says how to get the names, if many are missing."""
    path = test.copy_target("hot", "secret")
    named = test.record("--duration", "0.3", "--", path, "0.3")
    expect_equal(named.wait(), 0, "the exit status")
    expect("without names" not in named.stderr, f"names are there: {named.stderr}")
    run("strip", path)
    recording = test.record("--duration", "0.3", "--", path, "0.3")
    expect_equal(recording.wait(), 0, "the exit status")
    expect_match(r"\d+ % of the samples are in code of secret without names: --symbol-dir DIR ", recording.stderr, "the hint")
    expect_equal(recording.stderr.count("without names"), 1, "the number of hints")


def test_hint_of_package(test):
    """Of a program that the system's package manager knows, what its debug package would be called."""
    recording = test.record("--duration", "0.5", "--", "sh", "-c", "exec timeout 1 gzip -c /dev/zero >/dev/null")
    recording.wait()
    expect_match(r"\d+ % of the samples are in code of gzip without names: apt install gzip-dbgsym, ", recording.stderr,
                 "the hint")


def test_addresses_after_unloading(test):
    """Two libraries take each other's place; the Gecko format has no times, but each address is to be its own library's."""
    libraries = [build_source(test, "plugin.c", f"{name}.so", "gcc", "-shared", "-fPIC", f"-DNAME={name}_hot", "-DROOM=8",
                              f"-Wl,-Ttext={text}", *C_FLAGS)
                 for name, text in (("left", "0x1100"), ("right", "0x1900"))]
    target = test.start_target(build_source(test, "loader.c", "loader", "gcc", *C_FLAGS), *libraries)
    recording = test.record("--pid", target.pid, "--duration", "0.7", output="loader.gbpf")
    expect_equal(recording.wait(), 0, f"geckobpf's exit status: {recording.stderr}")
    gecko = convert(test, recording.path, "--symbols=addresses")
    processed = convert(test, recording.path, "--symbols=addresses", "--format=processed")
    libs = [(lib["name"], lib["start"]) for lib in Profile(gecko).main_thread(target.pid).process["libs"]]
    expect(len(libs) > len({name for name, _ in libs}), f"no library was in two places: {libs}")
    for path in libraries:
        name = os.path.basename(path)
        expect_equal(gecko_addresses(gecko, name), processed_addresses(processed, name), f"addresses of {name} in both formats")
        found = functions_at(path, gecko_addresses(gecko, name))
        expect(name.replace(".so", "_hot") in found and "??" not in found, f"functions of {name}: {found}")
