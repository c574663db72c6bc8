# SPDX-License-Identifier: BSD-2-Clause
"""Programs that want the recorder to fail: it goes on in bounded memory, and the samples of others are all there."""

import ctypes
import os
import re
import select
import shutil
import signal
import stat
import struct
import subprocess

from harness import burn, expect, expect_equal, expect_match, is_alive, wait_until

NOBODY = 65534
ODD_STACKS = ("garbage", "changing", "unmapped", "beyond", "kernel", "unreadable", "guarded", "circle", "scattered")
# What the buffer, which such a recording does not fill, and the unwind tables take is in it.
MOST_MB = 256
# Each is a target with its arguments, and runs until it is killed.
ATTACKS = [*(("odd_stack", kind) for kind in ODD_STACKS), ("wordy", "300"), ("namer", "2")]
LOST = re.compile("samples_lost|samples_overwritten")


def peak_mb(pid):
    """The most memory that the process had."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return int(re.search(r"VmHWM:\s*(\d+)", file.read()).group(1)) / 1024


def start(test, attacks):
    """Behind all others, which they would keep from running."""
    started = [test.start(["nice", "-n", "19", test.target(name), *arguments]) for name, *arguments in attacks]
    for attacker in started:
        attacker.wait_for(r"ready \d+\n")
    return started


def record_beside(test, attacks, cpu_s=0.3):
    """A recording of all that runs, of an ordinary program, and of those that attack; and its most memory."""
    ordinary = test.start_target("hot")
    attackers = start(test, attacks)
    recording = test.record_running("--all")
    burn(ordinary.pid, cpu_s)
    memory_mb = peak_mb(recording.pid)
    profile = recording.stop()
    for attacker in attackers:
        expect(is_alive(attacker.pid), f"an attacker ended: {attacker.story()}")
    lost = {name: value for name, value in profile.log().items() if LOST.search(name) and value}
    expect_equal(lost, {}, "samples that were lost")
    expect(memory_mb < MOST_MB, f"the recorder took {memory_mb:.0f} MB")
    thread = profile.main_thread(ordinary.pid)
    expect(thread.total_share("main") > 0.95, f"stacks of the ordinary program are cut: {thread.self_samples()}")
    expect(not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", recording.stderr), f"it commands the terminal: {recording.stderr!r}")
    return profile, attackers


def test_stacks(test):
    """Memory that is no stack: nothing waits for it, and the stack has an end with a reason, or none of its words."""
    profile, attackers = record_beside(test, [("odd_stack", kind) for kind in ODD_STACKS])
    for kind, attacker in zip(ODD_STACKS, attackers):
        expect("userfaultfd" not in attacker.stderr, f"no page is guarded: {attacker.stderr}")
        thread = profile.main_thread(attacker.pid)
        samples = thread.samples()
        expect(samples, f"no samples of a stack that is {kind}")
        deepest = max(len(thread.frames(row.stack)) for row in samples)
        expect(deepest < 1100, f"a stack that is {kind} has {deepest} frames")


def test_arguments(test):
    """Six megabytes of them, which three hundred processes share."""
    record_beside(test, [("wordy", "300")])


def test_names(test):
    """That change all the time."""
    record_beside(test, [("namer", "2")])


IN_OPEN = 0x20


class Opens:
    """How often each of some files was opened: inotify(7), which does not see O_PATH."""

    def __init__(self, test, paths):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        test.at_end.append(lambda: os.close(self.fd))
        self.names = {self.libc.inotify_add_watch(self.fd, path.encode(), IN_OPEN): path for path in paths}
        expect(self.fd >= 0 and -1 not in self.names, f"inotify: {os.strerror(ctypes.get_errno())}")

    def seen(self):
        found = []
        while select.select([self.fd], [], [], 0)[0]:
            data = os.read(self.fd, 65536)
            found += [self.names[watch] for watch, *_ in struct.iter_unpack("iIII", data)]
        return found


def test_swapped_links(test):
    """Of files that are mapped, each a symbolic link a moment later, to what their owner may not read, or what has effects
    when it is opened: nobody opens that."""
    paths = {name: os.path.join(test.directory, name) for name in ("secret", "fifo", "device")}
    shutil.copy(test.target("hot"), paths["secret"])
    os.chmod(paths["secret"], 0o600)
    os.mkfifo(paths["fifo"])
    writer = os.open(paths["fifo"], os.O_RDWR)  # or who opens it would wait, unseen
    test.at_end.append(lambda: os.close(writer))
    os.mknod(paths["device"], stat.S_IFCHR | 0o600, os.makedev(1, 5))
    opens = Opens(test, list(paths.values()))
    for name, path in paths.items():
        directory = test.make_directory(f"of_{name}")
        os.chown(directory, NOBODY, NOBODY)
        test.start_target("swapper", directory, path, NOBODY)
    ordinary = test.start_target("hot")
    recording = test.record_running("--all")
    burn(ordinary.pid, 1)
    recording.stop()
    expect_equal(opens.seen(), [], "what was opened behind a link that took the place of a file")


SOURCE = """
__attribute__((noinline)) void FUNCTION(unsigned long x)
{
    for (unsigned long i = 0; i < x; i++)
        __asm__ volatile("" : "+r"(x));
}
int main(void)
{
    FUNCTION(300000000);
    return 0;
}
"""


def build(test, path, function):
    source = test.write_file(f"{function}.c", SOURCE.replace("FUNCTION", function))
    subprocess.run(["gcc", "-O1", "-g0", "-static", "-Wl,--build-id=none", "-o", path, source], check=True)


def test_jail(test):
    """A program below another root, without a build id, that ends while the recorder is stopped: the host's file of the same
    name, whose code is elsewhere but at the same addresses, gives it no names."""
    jail = test.make_directory("jail")
    path = os.path.join(test.directory, "program")
    os.makedirs(jail + test.directory)
    build(test, path, "of_the_host")
    build(test, jail + path, "of_the_jail")
    recording = test.record_running("--all", "--all-processes")
    recording.signal(signal.SIGSTOP)
    for _ in range(3):
        subprocess.run(["chroot", jail, path], check=True)
    recording.signal(signal.SIGCONT)
    profile = recording.stop()
    found = profile.find(process_name="program")
    expect(found and any(thread.samples() for thread in found), "the jail's programs have no samples")
    names = {name for thread in found for name in thread.self_samples()}
    expect("of_the_host" not in names, f"the host's file gave its names: {sorted(names)}")


def test_ends_at_once(test):
    """However many attack, a recording that is told to end does so."""
    start(test, ATTACKS)
    recording = test.record_running("--all")
    recording.signal(signal.SIGINT)
    wait_until(lambda: recording.popen.poll() is not None, "the end of the recording", 30)
    expect_match(r"wrote ", recording.finish() and recording.stderr, "what it says")
