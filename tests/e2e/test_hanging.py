# SPDX-License-Identifier: BSD-2-Clause
"""File systems that stop answering: the recorder goes on, samples all others, ends, and can be ended."""

import os
import shutil
import signal
import subprocess
import sys

from harness import Skip, alone, burn, expect, is_alive, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))


class Hanging:
    """A program on a file system that hangs when `flag` (open, read) is set."""

    def __init__(self, test):
        self.directory, self.flags = test.make_directory("mount"), test.make_directory("flags")
        if not os.path.exists("/dev/fuse"):
            raise Skip("there is no /dev/fuse")
        program = shutil.copy(test.target("hot"), test.directory)
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


@alone
def test_can_be_killed(test):
    hanging = Hanging(test)
    target = test.start_target(hanging.program)
    hanging.hang("open")
    recording = test.record("--pid", target.pid)
    wait_until(hanging.was_asked, "somebody to look at the file that hangs")
    recording.signal(signal.SIGKILL)
    wait_until(lambda: not is_alive(recording.pid), "the end of a recorder that was killed")
