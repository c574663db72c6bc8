# SPDX-License-Identifier: BSD-2-Clause
"""Programs whose files cannot be opened by the path the kernel tells: containers, deleted files, memfds."""

import os
import signal

from harness import PYTHON, burn, children, expect, expect_equal, expect_near

BESIDE_OTHERS = True


def check_hot(test, pid):
    recording = test.record_running("--pid", pid)
    burn(pid, 0.5)
    profile = recording.stop()
    thread = profile.main_thread(pid)
    expect(len(thread.samples()) > 100, f"only {len(thread.samples())} samples")
    top = thread.self_samples().most_common(1)[0][0]
    expect_equal(top, "hot_inner", "the hottest function")
    expect_near(thread.total_share("hot_inner"), 0.7, 0.06, "its share")
    client = test.client(profile)
    expect_equal(client.functions(client.handle(pid))[0]["name"], "hot_inner", "the client's hottest function")
    return profile


def test_mount_namespace(test):
    """The program lies on a file system that only its own mount namespace has."""
    mount_point = test.make_directory("only-there")
    source = test.target("hot")
    path = f"{mount_point}/contained"
    target = test.start(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                         f"mount -t tmpfs tmpfs {mount_point} && cp {source} {path} && exec {path}"])
    target.wait_for("ready")
    expect(not os.path.exists(path), "the test is wrong: the file is visible outside")
    check_hot(test, target.pid)


def test_mount_namespace_other_file_outside(test):
    """Outside, another program has the same path."""
    mount_point = test.make_directory("both")
    source = test.target("hot")
    path = test.copy_target("syscaller", os.path.join(os.path.basename(mount_point), "contained"))
    target = test.start(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                         f"mount -t tmpfs tmpfs {mount_point} && cp {source} {path} && exec {path}"])
    target.wait_for("ready")
    check_hot(test, target.pid)


def test_command_in_mount_namespace(test):
    """The namespace is gone with the program when names are looked up."""
    mount_point = test.make_directory("gone")
    source = test.target("hot")
    path = f"{mount_point}/contained"
    recording = test.record("--", "unshare", "--mount", "--propagation", "private", "sh", "-c",
                            f"mount -t tmpfs tmpfs {mount_point} && cp {source} {path} && exec {path} 1")
    thread = recording.finish().thread(name="GeckoMain", process_name="contained")
    expect_equal(thread.self_samples().most_common(1)[0][0], "hot_inner", "the hottest function")


def test_pid_namespace(test):
    """A container's process, by the pid it has outside."""
    target = test.start(["unshare", "--pid", "--fork", "--mount-proc", test.target("hot")])
    target.wait_for("ready")
    check_hot(test, children(target.pid)[0])


def test_chroot(test):
    root = test.make_directory("root")
    inside = test.copy_target("hot", os.path.join(os.path.basename(root), "jailed"))
    expect(os.path.exists(inside), "the test is wrong: no program in the new root")
    for directory in ("lib", "lib64", "usr"):
        os.mkdir(f"{root}/{directory}")
    mounts = " && ".join(f"mount --bind {os.path.realpath('/' + directory)} {root}/{directory}"
                         for directory in ("lib", "lib64", "usr"))
    target = test.start(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                         f"{mounts} && exec chroot {root} /jailed"])
    target.wait_for("ready")
    check_hot(test, target.pid)


def test_deleted_executable(test):
    path = test.copy_target("hot", "deleted")
    target = test.start_target(path)
    os.unlink(path)
    check_hot(test, target.pid)


def test_replaced_executable(test):
    """An upgrade while it runs: another program has taken the path."""
    path = test.copy_target("hot", "upgraded")
    target = test.start_target(path)
    os.unlink(path)
    test.copy_target("syscaller", "upgraded")
    check_hot(test, target.pid)


def test_memfd(test):
    program = ("import os, sys\n"
               "fd = os.memfd_create('in-memory', 0)\n"
               "os.write(fd, open(sys.argv[1], 'rb').read())\n"
               "os.execve(fd, ['in-memory'], dict(os.environ))\n")
    target = test.start([PYTHON, "-c", program, test.target("hot")])
    target.wait_for("ready")
    check_hot(test, target.pid)


def test_exits_before_names(test):
    """The program is gone and deleted when names are looked up."""
    path = test.copy_target("hot", "fleeting")
    recording = test.record("--", "sh", "-c", f"{path} 1; rm {path}")
    thread = recording.finish().thread(name="GeckoMain", process_name="fleeting")
    expect_equal(thread.self_samples().most_common(1)[0][0], "hot_inner", "the hottest function")


def test_stopped_target(test):
    """A target that is stopped all the time is not woken, and its recording ends."""
    target = test.start_target("hot")
    target.signal(signal.SIGSTOP)
    recording = test.record("--pid", target.pid, "--duration", "0.5")
    profile = recording.finish()
    samples = sum(len(thread.samples()) for thread in profile.find(pid=target.pid))
    expect(samples < 10, f"{samples} samples of a stopped process")
    target.signal(signal.SIGCONT)
