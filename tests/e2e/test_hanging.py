# SPDX-License-Identifier: BSD-2-Clause
"""File systems that stop answering: the recorder goes on, samples all others, ends, and can be ended."""

import os
import random
import shutil
import signal
import struct
import subprocess
import sys

from harness import Skip, alone, burn, expect, expect_equal, is_alive, wait_until
from stacks import chain_share, expect_complete
from test_unwind import C_FLAGS, build_source

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARIES = 60
NOTE = struct.pack("<III", 4, 20, 3) + b"GNU\0"


class Hanging:
    """A program, or `path`, on a file system that hangs when `flag` (open, read, rest, flush) is set."""

    def __init__(self, test, path=None):
        self.directory, self.flags = test.make_directory("mount"), test.make_directory("flags")
        if not os.path.exists("/dev/fuse"):
            raise Skip("there is no /dev/fuse")
        program = path or shutil.copy(test.target("hot"), test.directory)
        self.server = test.start([sys.executable, os.path.join(HERE, "hanging.py"), self.directory, program, self.flags])
        self.server.wait_for("mounted\n|.")
        test.at_end.append(self.end)
        self.program = os.path.join(self.directory, "f")

    def end(self):
        self.server.signal(signal.SIGKILL)
        subprocess.run(["umount", "-l", self.directory], check=False)

    def hang(self, flag):
        with open(os.path.join(self.flags, flag), "w", encoding="utf-8"):
            pass

    def forget(self):
        """What was read of the program is not known any more, nor that somebody looked at it: so it is for who opens it."""
        with open(self.program, "rb"):
            pass
        if self.was_asked():
            os.remove(os.path.join(self.flags, "asked"))

    def was_asked(self):
        return os.path.exists(os.path.join(self.flags, "asked"))


def check_recording_goes_on(test, flag):
    """Returns the profile and the process whose program hangs."""
    hanging = Hanging(test)
    target = test.start_target(hanging.program)
    other = test.start_target("hot")
    hanging.hang(flag)
    recording = test.record_running("--pid", target.pid, "--pid", other.pid)
    burn(other.pid, 1)
    profile = recording.stop()
    expect(hanging.was_asked(), "nobody has looked at the file that hangs")
    samples = profile.main_thread(other.pid).samples()
    expect(len(samples) > 100, f"{len(samples)} samples of {other.pid}")
    expect(profile.log().get("files_not_opened_in_time"), "the file that hangs is not counted")
    return profile, target


@alone
def test_open_hangs(test):
    profile, target = check_recording_goes_on(test, "open")
    samples = profile.main_thread(target.pid).samples()
    expect(len(samples) > 100, f"{len(samples)} samples of the program whose file hangs")


@alone
def test_read_hangs(test):
    """Its program waits for the same page, so there may be no samples of that."""
    check_recording_goes_on(test, "read")


def copy_library(path, original):
    """Another library for everybody: it has a build id of its own."""
    at = original.index(NOTE) + len(NOTE)
    with open(path, "wb") as file:
        file.write(original[:at] + random.randbytes(20) + original[at + 20:])
    return path


@alone
def test_table_hangs(test):
    """Of a program with many libraries, one of which cannot be parsed: its stacks, deeper than their copies, are complete
    nevertheless, and none is lost, for nobody waits for that one."""
    program = build_source(test, "libraries.c", "libraries", "gcc", *C_FLAGS)
    library = build_source(test, "libraries.c", "deep.so", "gcc", *C_FLAGS, "-DLIBRARY", "-shared", "-fPIC", "-Wl,--build-id")
    with open(library, "rb") as file:
        original = file.read()
    copies = [copy_library(os.path.join(test.directory, f"lib{i}.so"), original) for i in range(LIBRARIES)]
    hanging = Hanging(test, copy_library(os.path.join(test.directory, "hangs.so"), original))
    hanging.hang("rest")
    recording = test.record("--rate", "997", "--", program, hanging.program, *copies, library)
    profile = recording.finish(patience_s=60)
    expect(hanging.was_asked(), "nobody has looked at the file that hangs")
    profile.expect_nothing_lost()
    # What opens a file waits for a tenth of a second at most.
    expect_complete(profile, least=0.9, samples=2100)
    expect(chain_share(profile, "_start", "main", *["deep"] * 40, "work") > 0.8, "the calls are missing")


def record_until_it_hangs(test):
    """Its program, which is not copied, hangs when names are looked for. Returns the recording, that program and another one."""
    filling = test.write_file("filling", bytes(5 << 20))
    large = os.path.join(test.directory, "large")
    subprocess.run(["objcopy", "--add-section", f".gcc_except_table={filling}", test.target("hot"), large], check=True)
    hanging = Hanging(test, large)
    target, other = test.start_target(hanging.program), test.start_target("hot")
    for _ in range(10):
        recording = test.record_running("-v", "--pid", target.pid, "--pid", other.pid)
        burn(other.pid, 0.5)
        recording.read(0)
        # On a busy machine it may have been too late at once: then nobody looks at it later.
        if "could not be opened in time" not in recording.stderr:
            break
        recording.stop()
    hanging.hang("read")
    hanging.forget()
    return recording, hanging, other


@alone
def test_names_hang(test):
    recording, hanging, other = record_until_it_hangs(test)
    profile = recording.stop()
    expect(hanging.was_asked(), "nobody has looked at the file that hangs")
    samples = profile.main_thread(other.pid).self_samples(user=True)
    named = sum(count for name, count in samples.items() if not name.startswith("0x"))
    expect(named > 0.95 * sum(samples.values()), f"names of the program that does not hang: {samples}")
    expect_equal(profile.log().get("files_not_opened_in_time"), 1, "files that hang")


@alone
def test_names_that_hang_are_given_up(test):
    recording, hanging, _ = record_until_it_hangs(test)
    recording.signal(signal.SIGINT)
    wait_until(hanging.was_asked, "somebody to look at the file that hangs")
    recording.signal(signal.SIGINT)
    recording.wait()
    expect(not os.path.exists(recording.path), "there is a profile")


@alone
def test_close_hangs(test):
    """Whoever has had the file open. Its names are there, and so are those of files that are looked at later."""
    hanging = Hanging(test)
    target = test.start_target(hanging.program)
    hanging.hang("flush")
    recording = test.record_running("--all")
    wait_until(hanging.was_asked, "somebody to close the file that hangs")
    other = test.start_target(test.copy_target("hot", "later"))
    burn(other.pid, 0.5)
    profile = recording.stop()
    for process in (target, other):
        top = profile.main_thread(process.pid).self_samples().most_common(1)[0][0]
        expect_equal(top, "hot_inner", f"the hottest function of {process.arguments[0]}")


@alone
def test_can_be_killed(test):
    hanging = Hanging(test)
    target = test.start_target(hanging.program)
    hanging.hang("open")
    recording = test.record("--pid", target.pid)
    wait_until(hanging.was_asked, "somebody to look at the file that hangs")
    recording.signal(signal.SIGKILL)
    wait_until(lambda: not is_alive(recording.pid), "the end of a recorder that was killed")
