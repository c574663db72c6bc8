# SPDX-License-Identifier: BSD-2-Clause
"""hostile_frames.py - ELF files whose unwind information costs far more to read than to make, or leaves no room for others."""

import os
import struct
import sys

from hostile_elf import CODE, LOOP, Section, write

CIE = struct.pack("<IIB4sBBBB5s2x", 20, 0, 1, b"zR\0\x01", 0x78, 16, 1, 0x1b, b"\x0c\x07\x08\x90\x01")
# Rules of each file, of 65,536 that there are: the small ones take what the large ones leave.
RULES = [8180] * 8 + [4090, 2040, 1020, 510, 250, 120, 60, 30]
SPARSE = 8  # files
FUNCTION_BYTES = 16


def number(value):
    """ULEB128."""
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def function(at, offset, size, program):
    """The description of a function at `offset` of the code; `at`: where it stands in the section, which is at address 0."""
    body = struct.pack("<IiIB", at + 4, CODE + offset - (at + 8), size, 0) + program
    body += bytes(-len(body) % 4)
    return struct.pack("<I", len(body)) + body


def sparse(path):
    """A gigabyte of .eh_frame, in a hole; a gigabyte more for each such file would be read."""
    write(path, [Section(".eh_frame", 1, CIE, hole=1 << 30)])


def greedy(path, first, rules):
    """Each function has a rule that no other has, nor any other file."""
    data = CIE
    for i in range(rules):
        data += function(len(data), i * FUNCTION_BYTES, FUNCTION_BYTES, b"\x0e" + number(0x100000 + 8 * (first + i)))
    write(path, [Section(".eh_frame", 1, data)], LOOP * (max(RULES) * FUNCTION_BYTES // len(LOOP)))


def make_all(directory, owner):
    """Returns their paths."""
    paths = [os.path.join(directory, f"sparse{i}.so") for i in range(SPARSE)]
    for path in paths:
        sparse(path)
    for i, rules in enumerate(RULES):
        paths.append(os.path.join(directory, f"greedy{i}.so"))
        greedy(paths[-1], i * max(RULES), rules)
    for path in paths:
        os.chown(path, owner, owner)
    return paths


MAPPER = """
import ctypes, mmap, os, sys, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
for path in sys.argv[1:]:
    libc.mmap(None, ctypes.c_size_t(1 << 18), mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, os.open(path, os.O_RDONLY), 0)
print("ready", flush=True)
time.sleep(600)
"""


def run(test, paths):
    """Starts a program that maps the code of each, and keeps it; returns it."""
    target = test.start([sys.executable, "-c", MAPPER, *paths])
    target.wait_for("ready\n")
    return target


def own_rules(functions=300):
    """A program in C, each of whose functions has a frame of another size, all of them on its stack."""
    lines = ["#include <stdio.h>", "#include <unistd.h>", "static volatile unsigned sink;",
             "static __attribute__((noinline)) void f0(void) { for (;;) sink++; }"]
    for i in range(1, functions):
        lines.append(f"static __attribute__((noinline)) void f{i}(void) {{ volatile char room[{3000 + 16 * i}]; "
                     f"room[0] = 1; f{i - 1}(); sink += room[0]; }}")
    lines += ["int main(void)", "{", 'printf("ready %d\\n", (int)getpid());', "fflush(stdout);", f"f{functions - 1}();", "}"]
    return "\n".join(lines) + "\n"
