# SPDX-License-Identifier: BSD-2-Clause
"""hostile_elf.py - ELF libraries whose symbols cost far more to read than to make; and who runs code of such files.

Each has one loop of code; what is large in them is mostly a hole."""

import lzma
import os
import struct
import subprocess
import sys

CODE = 0x1000  # of each file, and an address
LOOP = b"\xeb\xfe"  # for ever
NAMES = [b"\x1b]0;EVIL\x07\x1b[2J", b"bad\xff\xfe\xc3(\xed\xa0\x80", b'"quote"\\', b"line\nend\r\ttab", b"N" * (1 << 20),
         b"_ZN" + b"1aI" * 2000, b"\xc2\x9b31m", b"\xe2\x80\xaertl"]
SYMBOL = struct.Struct("<IBBHQQ")


def symbol(name, value, size):
    """A global function in .text."""
    return SYMBOL.pack(name, 0x12, 0, 1, value, size)


class Section:
    """Bytes, or a hole of so many; `after` stands behind the hole."""

    def __init__(self, name, kind, data=b"", hole=0, after=b"", link=0, entry=0):
        self.name, self.kind, self.data, self.hole, self.after = name, kind, data, hole, after
        self.link, self.entry = link, entry

    def size(self):
        return len(self.data) + self.hole + len(self.after)


def strings(data=b"", **rest):
    return Section(".strtab", 3, data, **rest)


def symbols(data=b"", **rest):
    """Its strings are the next section."""
    return Section(".symtab", 2, data, link=3, entry=24, **rest)


def write(path, sections, code=LOOP * 2048, text_bytes=None):
    """`text_bytes`: as the file says, if that is not what there is of it."""
    text_bytes = text_bytes or len(code)
    at = (CODE + text_bytes + 4095) & ~4095
    names, headers = b"\0.text\0", [bytes(64), struct.pack("<IIQQQQIIQQ", 1, 1, 6, CODE, CODE, text_bytes, 0, 0, 16, 0)]
    with open(path, "wb") as file:
        file.seek(CODE)
        file.write(code)
        for section in [*sections, Section(".shstrtab", 3)]:
            number = len(names)
            names += section.name.encode() + b"\0"
            section.data = section.data if section.name != ".shstrtab" else names
            headers.append(struct.pack("<IIQQQQIIQQ", number, section.kind, 0, 0, at, section.size(), section.link, 0, 16,
                                       section.entry))
            file.seek(at)
            file.write(section.data)
            file.seek(at + len(section.data) + section.hole)
            file.write(section.after)
            at = (at + section.size() + 15) & ~15
        file.seek(at)
        file.write(b"".join(headers))
        file.seek(0)
        loaded = CODE + text_bytes
        file.write(b"\x7fELF\x02\x01\x01" + bytes(9) +
                   struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, CODE, 64, at, 0, 64, 56, 1, 64, len(headers), len(headers) - 1) +
                   struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, loaded, loaded, 0x1000))
    os.chmod(path, 0o755)


def sparse(path):
    """A gigabyte of symbols and a gigabyte of their names, in holes."""
    write(path, [symbols(hole=((1 << 30) - 4096) // 24 * 24, after=symbol((1 << 30) - 64, CODE, 4096)),
                 strings(hole=(1 << 30) - 64, after=b"in_a_hole\0")])


def equal_places(path):
    """200,000 symbols of one place, with names of 16 MiB."""
    write(path, [symbols(b"".join(symbol(1 + i % 64, CODE, 4096) for i in range(200000))),
                 strings(b"\0" + b"_" * (16 << 20) + b"\0")])


def nested(path):
    """Three million functions, each within the one before; what runs is behind all of them."""
    count, room = 3000000, 64 << 20
    end = CODE + 8 * count
    table = b"".join(symbol(1, CODE + 8 * i, end - CODE - 8 * i) for i in range(count))
    write(path, [symbols(table), strings(b"\0f\0")], bytes(8 * count) + b"\x90" * 65536 + b"\xe9" +
          struct.pack("<i", -65536 - 5), room)
    return end


def linked(path):
    """Its debug file has no build id, and four terabytes."""
    write(path, [Section(".gnu_debuglink", 1, b"big.debug\0\0\0" + b"\1\2\3\4")])
    debug = os.path.join(os.path.dirname(path), "big.debug")
    write(debug, [symbols(symbol(1, CODE, 4096)), strings(b"\0f\0")])
    os.truncate(debug, 4 << 40)


def packed(path):
    """Two gigabytes of zeros, as .gnu_debugdata."""
    piece = lzma.compress(bytes(16 << 20), format=lzma.FORMAT_XZ)
    write(path, [Section(".gnu_debugdata", 1, piece * 128)])


def packed_nothing(path):
    """A million times nothing, as .gnu_debugdata."""
    write(path, [Section(".gnu_debugdata", 1, lzma.compress(b"", format=lzma.FORMAT_XZ) * 1000000)])


def odd_names(path):
    """Names that command terminals, break texts, or never end; each has its own part of the loop."""
    names, table = b"\0", b""
    for i, name in enumerate(NAMES):
        table += symbol(len(names), CODE + 512 * i, 512)
        names += name + b"\0"
    code = b"".join(b"\x90" * 500 + b"\xeb\x0a" + b"\x90" * 10 for _ in NAMES)
    write(path, [symbols(table), strings(names)], code + b"\xe9" + struct.pack("<i", -len(code) - 5))


MADE = {"sparse.so": sparse, "equal.so": equal_places, "nested.so": nested, "linked.so": linked, "packed.so": packed,
        "nothing.so": packed_nothing, "\x1b]0;LIB\x07\n\"x.so": odd_names}


def make_all(directory):
    """Returns a list of path and file offset of the code that is to be run. What that takes of memory is not this process's."""
    made = subprocess.run([sys.executable, __file__, directory], check=True, stdout=subprocess.PIPE).stdout
    return [(os.path.join(directory, name), at) for name, at in zip(MADE, map(int, made.split()))]


RUNNER = """
import ctypes, mmap, os, sys, threading, time
for path, at in zip(sys.argv[1::2], sys.argv[2::2]):
    fd, at = os.open(path, os.O_RDONLY), int(at)
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    begin = libc.mmap(None, ctypes.c_size_t(at + (1 << 20)), mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, fd, 0)
    threading.Thread(target=ctypes.CFUNCTYPE(None)(begin + at), daemon=True).start()
print("ready", flush=True)
time.sleep(600)
"""


def run(test, made):
    """Starts a program that runs the code of each; returns it."""
    target = test.start([sys.executable, "-c", RUNNER, *(word for path, at in made for word in (path, str(at)))])
    target.wait_for("ready\n")
    return target


if __name__ == "__main__":
    for so, make in MADE.items():
        print(make(os.path.join(sys.argv[1], so)) or CODE)
