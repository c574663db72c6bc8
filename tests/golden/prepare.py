#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""prepare.py DUMP NAME: makes NAME.records and NAME.kallsyms out of what --dump-records wrote.

What would tie the stream to a machine is replaced: files are moved to /nonexistent/, process ids become larger than any
that the kernel gives out, and the kernel's symbols at the sampled addresses are taken from /proc/kallsyms, so this must
run on the machine of the recording, as root, before it is booted again. Mappings of processes that no other record names
(the kernel reports those of the whole machine) are left out, and so are registers and stack memory of raw samples. The
layouts are those of include/geckobpf_abi.h and user/recording/map_records.h.
"""
import bisect
import os
import struct
import sys

SAMPLE, TASK, MAP, IMAGE, RAW = 1, 2, 3, 4, 5
SAMPLE_BYTES, MAP_BYTES = 104, 88
RUNS_AT, RUNS = 80, 4  # of {kind, words}
KERNEL, USER = 1, 0  # kinds of frames
PID_OFFSET = 5000000  # PID_MAX_LIMIT is 4194304


def split(data):
    at = 0
    while at < len(data):
        kind, _, size = struct.unpack_from("=HHI", data, at)
        if size < 16 or at + size > len(data):
            sys.exit(f"byte {at}: a record of {size} bytes")
        yield kind, bytearray(data[at:at + size])
        at += size


def move_pids(record, at, count):
    for pid, in struct.iter_unpack("=I", bytes(record[at:at + 4 * count])):
        if pid:
            struct.pack_into("=I", record, at, pid + PID_OFFSET)
        at += 4


def move_path(record):
    path = bytes(record[MAP_BYTES:]).rstrip(b"\0")
    if path.startswith(b"/") and not path.startswith(b"//") or path == b"[vdso]":
        path = b"/nonexistent/" + os.path.basename(path)
    moved = record[:MAP_BYTES] + path + b"\0"
    struct.pack_into("=I", moved, 4, len(moved))
    return moved


def runs(record):
    """(kind, words) of each run."""
    at = SAMPLE_BYTES
    for kind, count in struct.iter_unpack("=HH", bytes(record[RUNS_AT : RUNS_AT + 4 * RUNS])):
        yield kind, struct.unpack_from(f"={count}Q", record, at)
        at += 8 * count


def kernel_addresses(record):
    return [word for kind, words in runs(record) if kind == KERNEL for word in words]


def drop_stack_copy(record):
    kept, words = record[:SAMPLE_BYTES], []
    for number, (kind, run) in enumerate(runs(record)):
        run = () if kind == USER else run
        struct.pack_into("=HH", kept, RUNS_AT + 4 * number, kind, len(run))
        words += run
    kept += struct.pack(f"={len(words)}Q", *words)
    struct.pack_into("=I", kept, 4, len(kept))
    return kept


def prepare(kind, record):
    if kind in (SAMPLE, RAW):
        move_pids(record, 16, 2)
        record = drop_stack_copy(record) if kind == RAW else record
    elif kind == TASK:
        move_pids(record, 16, 2)
        move_pids(record, 48, 2)
    elif kind in (MAP, IMAGE):
        move_pids(record, 16, 1)
        record = move_path(record) if kind == MAP else record
    return bytes(record)


def tgid_of(record):
    return struct.unpack_from("=I", record, 16)[0]


def symbols_at(addresses):
    """The lines of /proc/kallsyms that name the addresses, each with the one that follows it."""
    with open("/proc/kallsyms", encoding="ascii") as file:
        lines = sorted((int(line.split()[0], 16), line) for line in file if line.split()[1] in "tT")
    starts = [start for start, _ in lines]
    wanted = set()
    for address in addresses:
        at = bisect.bisect_right(starts, address)
        start = starts[at - 1]
        wanted.update(line for line in lines[at:at + 1])
        wanted.update(line for line in lines if line[0] == start)
    return "".join(line for _, line in sorted(wanted))


def main():
    dump, name = sys.argv[1:]
    addresses = set()
    with open(dump, "rb") as file:
        data = file.read()
    profiled = {tgid_of(record) for kind, record in split(data) if kind in (SAMPLE, TASK, RAW)}
    with open(name + ".records", "wb") as file:
        for kind, record in split(data):
            if tgid_of(record) not in profiled:
                continue
            if kind in (SAMPLE, RAW):
                addresses.update(kernel_addresses(record))
            file.write(prepare(kind, record))
    with open(name + ".kallsyms", "w", encoding="ascii") as file:
        file.write(symbols_at(addresses))


main()
