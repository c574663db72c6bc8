# SPDX-License-Identifier: BSD-2-Clause
"""Files that were made to exhaust their reader: it takes no more memory than they are worth, and says why it refuses them."""

import os

import hostile
from harness import expect, expect_equal, expect_match

WHY = {
    "images.gbpf": r"images.gbpf: would take more memory than 16 times its size and 32 MB, .*; record it again",
    "names.gbpf": r"names.gbpf: would take more memory than 16 times its size and 32 MB, .*; record it again",
    "frames.gbpf": r"frames.gbpf: its stacks would take more memory than 16 times its size and 32 MB; .*--process",
    "bomb.json.gz": r"bomb.json.gz: too large: its content is larger than \d+ bytes; record for a shorter time",
    "trees.json": r"trees.json: too large: byte \d+: what begins there would take more than 40 MB of memory; record",
}


def run(test, *arguments):
    """Returns the exit status, what was said, and the most bytes of memory that it had."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.dup2(writing, 2)
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
        os.closerange(3, 64)
        os.execv(test.geckobpf, [test.geckobpf, *arguments])
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as file:
        said = file.read()
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), said, usage.ru_maxrss * 1024


def test_memory(test):
    for name, make in hostile.MADE.items():
        path = test.write_file(name, make())
        most = 20 * os.path.getsize(path) + (64 << 20)
        outputs = ["out.folded", "out.pb.gz"] + ([] if "json" in name else ["out.json", "out.json.gz"])
        paths = [os.path.join(test.directory, output) for output in outputs]
        for arguments in (["report", path], *(["convert", path, "-o", output] for output in paths)):
            status, said, memory = run(test, *arguments)
            what = f"geckobpf {' '.join(arguments)}"
            expect_equal(status, 1, f"the exit status of {what}: {said}")
            expect_match(WHY[name], said, f"what {what} says")
            expect(memory <= most, f"{what} took {memory >> 20} MB of memory, more than {most >> 20} MB")
            expect(not any(os.path.exists(arguments[-1]) for _ in arguments[3:]), f"{what} left {arguments[-1]}")
