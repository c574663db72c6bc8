# SPDX-License-Identifier: BSD-2-Clause
"""Files of targets: nobody's names come from a file that only says it is the same, and none is kept from being unmounted or
deleted."""

import os
import signal
import subprocess

from harness import Profile, burn, comm, expect, expect_equal, wait_until

SOURCE = """
__attribute__((noinline)) void FUNCTION(unsigned long x)
{
    for (unsigned long i = 0; i < x; i++)
        __asm__ volatile("" : "+r"(x));
}
PADDING
int main(int argc, char **argv)
{
    for (int i = 0; argc > 1 || i < 20; i++)
        FUNCTION(30000000);
    return 0;
}
"""
PADDING = "__attribute__((used, aligned(4096))) static void padding(void) { __asm__ volatile(\".skip 4096\"); }"
BUILD_ID = "0x" + "5a" * 20
NOBODY = 65534
MB = 1 << 20


def build(test, path, function, padding):
    source = test.write_file(f"{function}.c", SOURCE.replace("FUNCTION", function).replace("PADDING", padding))
    subprocess.run(["gcc", "-O1", "-g0", f"-Wl,--build-id={BUILD_ID}", "-o", path, source], check=True)


class Impostor:
    """A program of root, and one of an unprivileged user that has its build id and other symbols at the same addresses."""

    def __init__(self, test):
        self.test = test
        real, fake = (os.path.join(test.directory, name) for name in ("real", "fake"))
        build(test, real, "of_root", "")
        build(test, fake, "of_nobody", PADDING)
        os.chown(fake, NOBODY, NOBODY)
        self.real = [real]
        self.fake = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", fake]

    def script(self, fake_first):
        order = [self.fake, self.real] if fake_first else [self.real, self.fake]
        return "; ".join(" ".join(words) for words in order)

    def check(self, profile, what):
        thread = profile.thread(name="GeckoMain", process_name="real")
        names = set(thread.self_samples(user=True))
        expect("of_root" in names, f"{what}: the program of root has no names of its own: {sorted(names)}")
        expect("of_nobody" not in names, f"{what}: it has names of the impostor: {sorted(names)}")


def convert(test, *paths):
    output = os.path.join(test.make_directory("converted"), "profile.json")
    subprocess.run([test.geckobpf, "convert", *paths, "-o", output], check=True, capture_output=True, timeout=60)
    return Profile(output)


def check_order(test, fake_first):
    impostor = Impostor(test)
    stream = os.path.join(test.make_directory("stream"), "s.gbpf")
    recording = test.record("--stream", stream, "--", "sh", "-c", impostor.script(fake_first))
    impostor.check(recording.finish(), "a command")
    impostor.check(convert(test, stream), "its stream")


def test_impostor_first(test):
    check_order(test, True)


def test_impostor_later(test):
    check_order(test, False)


def test_impostor_that_runs_already(test):
    impostor = Impostor(test)
    fake, real = (test.start([*words, "for ever"]) for words in (impostor.fake, impostor.real))
    wait_until(lambda: comm(fake.pid) == "fake" and comm(real.pid) == "real", "the programs")
    recording = test.record_running("--all")
    burn(real.pid, 0.2)
    impostor.check(recording.stop(), "--all")


def test_impostor_in_another_capture(test):
    """Captures of one boot that are put together."""
    impostor = Impostor(test)
    paths = []
    for words in (impostor.fake, impostor.real):
        recording = test.record("--", *words, output="c.gbpf")
        expect_equal(recording.wait(30), 0, "the exit status")
        paths.append(recording.path)
    for order in (paths, paths[::-1]):
        impostor.check(convert(test, *order), "merged captures")


# ---- what is kept ------------------------------------------------------------------------------------------------
class Disk:
    """A file system of its own, and a program on it."""

    def __init__(self, test):
        self.directory = test.make_directory("disk")
        self.path = os.path.join(self.directory, "program")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1200M,mode=755", "tmpfs", self.directory], check=True)
        test.at_end.append(lambda: subprocess.run(["umount", "-l", self.directory], check=False, capture_output=True))
        subprocess.run(["cp", test.target("hot"), self.path], check=True)

    def free_bytes(self):
        status = os.statvfs(self.directory)
        return status.f_bavail * status.f_bsize


def run_to_its_end(test, path):
    process = test.start_target(path)
    burn(process.pid, 0.3)
    process.signal(signal.SIGKILL)
    process.popen.wait()
    return process.pid


def check_names(profile, pid):
    top = profile.main_thread(pid).self_samples().most_common(1)[0][0]
    expect_equal(top, "hot_inner", "the hottest function of the program that is gone")


def test_unmount(test):
    """The file system of a program that has ended, while it is recorded; and its names are there all the same."""
    disk = Disk(test)
    recording = test.record_running("--all")
    pid = run_to_its_end(test, disk.path)
    done = subprocess.run(["umount", disk.directory], capture_output=True, text=True, check=False)
    expect_equal(done.returncode, 0, f"umount's exit status ({done.stderr})")
    check_names(recording.stop(), pid)


def test_unmount_in_a_namespace(test):
    """That only the program has had."""
    mount_point = test.make_directory("only-there")
    script = (f"mount -t tmpfs tmpfs {mount_point} && cp {test.target('hot')} {mount_point}/program && "
              f"{mount_point}/program 1 && umount {mount_point} && echo unmounted")
    recording = test.record_running("--all")
    process = test.start(["unshare", "--mount", "--propagation", "private", "sh", "-c", script])
    expect_equal(process.wait(), 0, f"the exit status ({process.stderr})")
    expect("unmounted" in process.stdout, "the test is wrong")
    thread = recording.stop().thread(name="GeckoMain", process_name="program")
    expect_equal(thread.self_samples().most_common(1)[0][0], "hot_inner", "the hottest function")


def test_space_comes_back(test):
    """A gigabyte that is deleted, of a program that has ended; whose names are there all the same."""
    disk = Disk(test)
    before = disk.free_bytes()
    with open(disk.path, "r+b") as file:
        file.seek(0, os.SEEK_END)
        for _ in range(1024):
            file.write(b"\1" * MB)
    expect(disk.free_bytes() < before - 1000 * MB, "the test is wrong: no gigabyte is used")
    recording = test.record_running("--all")
    pid = run_to_its_end(test, disk.path)
    os.unlink(disk.path)
    wait_until(lambda: disk.free_bytes() > before - MB, "the space of a deleted file", 5)
    check_names(recording.stop(), pid)


def test_deleted_beside_us(test):
    """On the file system that we run from, where files are kept open."""
    path = test.copy_target("hot", "doomed")
    recording = test.record_running("--all")
    pid = run_to_its_end(test, path)

    def is_kept():
        fds = f"/proc/{recording.pid}/fd"
        return any(os.readlink(f"{fds}/{fd}").startswith(path) for fd in os.listdir(fds) if os.path.islink(f"{fds}/{fd}"))

    expect(is_kept(), "the test is wrong: the file is not kept open")
    os.unlink(path)
    wait_until(lambda: not is_kept(), "the file to be closed", 5)
    check_names(recording.stop(), pid)
