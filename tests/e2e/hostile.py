# SPDX-License-Identifier: BSD-2-Clause
"""hostile.py - files that are made to cost their reader far more than they cost whoever made them."""

import ctypes
import gzip
import struct
import zlib

HEAD, FILES, PROCESSES, BLOCKS, END = 1, 3, 4, 5, 6
SECTION_BYTES = 15 << 20


def number(value):
    """ULEB128."""
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def numbers(*values):
    return b"".join(map(number, values))


def text(value):
    return number(len(value) + 1) + value


def compress(data):
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_compressBound.restype = zstd.ZSTD_compress.restype = ctypes.c_size_t
    room = zstd.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(room)
    size = zstd.ZSTD_compress(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 19)
    return out.raw[:size]


def with_crc(data):
    return data + struct.pack("<I", zlib.crc32(data))


def section(kind, data):
    stored = compress(data)
    return with_crc(struct.pack("<IHHII", 0x53504247, kind, 0, len(data), len(stored))) + stored


def sections(kind, records):
    """As few as hold the records."""
    out, part = [], bytearray()
    for record in records:
        if len(part) + len(record) > SECTION_BYTES:
            out.append(section(kind, bytes(part)))
            part = bytearray()
        part += record
    return b"".join(out + [section(kind, bytes(part))])


def head():
    facts = text(b"demo") + number(0) * 3 + numbers(1, 1, 10**18, 10**9, 0, 10**6, 1 << 27, 0, 0, 0, 0)
    return with_crc(b"geckobpf" + struct.pack("<HH", 3, 0)) + section(HEAD, facts)


def image(tgid, cmdline=b"x", mappings=()):
    """With one thread."""
    return (numbers(tgid, 1, 0, 0, 0, 0, 0, 0) + text(b"x") + text(cmdline) + number(1) +
            numbers(0, tgid, 1, 0, 0, 0, 0) + text(b"x") + number(0) + number(len(mappings)) + b"".join(mappings))


def run(tgid, entries):
    data = b"".join(number(len(entry)) + entry for entry in entries)
    return numbers(tgid, 1, 0, 0, len(data)) + data


# The first entry of an epoch: a sample of thread 0 with one frame of user code.
FIRST = bytes([0x80 | 1 | 2 | 4 | 8]) + numbers(0, 3, 10**6, 0, 0, 0, 1, 2, 0)


def many_images():
    """Each has a buffer of its own."""
    count = 200000
    return (head() + sections(PROCESSES, (image(1 + i) for i in range(count))) +
            sections(BLOCKS, (run(1 + i, [FIRST]) for i in range(count))))


def many_names():
    """Command lines of a megabyte."""
    return head() + sections(PROCESSES, (image(1 + i, b"a" * (1 << 20)) for i in range(1000)))


def many_frames():
    """Each sample has a hundred that no other has."""
    frame = numbers(1, 2, 0)
    more = bytes([0x80 | 8 | 0x20]) + numbers(0, 0) + frame * 100
    first = FIRST + frame * 99
    file = numbers(0, 0, 1, 2, 0) + text(b"/x")
    return (head() + section(FILES, file) + section(PROCESSES, image(1, mappings=[numbers(0, 1 << 40, 0, 0, 0)])) +
            section(BLOCKS, run(1, [first] + [more] * 40000)))


def json_bomb(size):
    """A profile as gzip, of which `size` bytes say nothing."""
    head = b'{"meta":{"version":36,"interval":1,"sampleUnits":{"threadCPUDelta":"ns"}},"threads":[],"x":['
    return gzip.compress(head + b"{}," * (size // 3) + b"{}]}", 6)


def json_trees(count):
    """A thread with so many objects that nobody asked for."""
    return (b'{"meta":{"version":36,"interval":1,"sampleUnits":{"threadCPUDelta":"ns"}},"threads":[{"name":"x","x":[' +
            b"{}," * count + b"{}]}]}")


MADE = {"images.gbpf": many_images, "names.gbpf": many_names, "frames.gbpf": many_frames,
        "bomb.json.gz": lambda: json_bomb(300 << 20), "trees.json": lambda: json_trees(400000)}
