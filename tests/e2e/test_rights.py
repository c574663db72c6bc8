# SPDX-License-Identifier: BSD-2-Clause
"""What each capability is for, and what is said when one is missing, or when somebody forbids what it allows."""

import os
import shutil

from harness import PYTHON, expect, expect_equal, expect_match

BESIDE_OTHERS = True

NOBODY = 65534
NEEDED = ("bpf", "perfmon", "sys_ptrace")
ALL = (*NEEDED, "syslog", "dac_read_search", "checkpoint_restore", "sys_nice")
# As docker gives them to root.
OF_A_CONTAINER = ("chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap", "net_bind_service",
                  "net_raw", "sys_chroot", "mknod", "audit_write", "setfcap")
BPF, PERF_EVENT_OPEN = 321, 298
IN_CONTAINER = ("in a container: docker run --privileged --pid=host, or --pid=host and --cap-add BPF, PERFMON, SYS_PTRACE, "
                "SYSLOG, DAC_READ_SEARCH, CHECKPOINT_RESTORE, SYS_NICE; a service manager may have taken them, too")
SECCOMP = ("Operation not permitted; a seccomp filter may forbid it: docker run --security-opt seccomp=unconfined, or "
           "--privileged; systemd: SystemCallFilter=")


def with_capabilities(names, user=NOBODY):
    chosen = ",".join(["-all", *(f"+{name}" for name in names)])
    ids = ["--reuid", user, "--regid", user, "--clear-groups"] if user else []
    ambient = ["--ambient-caps", chosen] if user else []
    return ["setpriv", *ids, "--inh-caps", chosen, *ambient, "--bounding-set", chosen]


class Targets:
    """Programs of another user: one that everybody can read, one that nobody else can, and one that is deleted."""

    def __init__(self, test):
        test.geckobpf = shutil.copy(test.geckobpf, os.path.join(test.directory, "geckobpf"))
        os.chmod(test.geckobpf, 0o755)
        self.test = test
        self.open, self.secret, self.deleted = (self.start(name) for name in ("open", "secret", "deleted"))
        os.unlink(os.path.join(test.directory, "deleted"))
        os.chmod(os.path.join(test.directory, "secret"), 0o700)

    def start(self, name):
        return self.test.start_target(self.test.copy_target("hot", name))

    def record(self, capabilities):
        directory = self.test.make_directory("out")
        os.chown(directory, NOBODY, NOBODY)
        pids = ",".join(str(target.pid) for target in (self.open, self.secret, self.deleted))
        return self.test.record("--pid", pids, "--duration", "0.7", directory=directory,
                                prefix=with_capabilities(capabilities))


def has_names(profile, target):
    thread = profile.main_thread(target.pid)
    expect(thread.samples(), f"no samples of {thread}")
    return any("hot_inner" in location for row in thread.samples() for location, _ in thread.frames(row.stack))


def test_without_one(test):
    """Without one of those that are needed, it does not start, and says which."""
    targets = Targets(test)
    for missing in NEEDED:
        recording = targets.record([name for name in ALL if name != missing])
        expect_equal(recording.wait(), 1, f"the exit status without {missing}")
        expect_equal(recording.stderr, f"geckobpf: not root: missing CAP_{missing.upper()}; run it with sudo\n", "the error")


def test_all_of_them(test):
    """All that there is to have, without being root."""
    targets = Targets(test)
    recording = targets.record(ALL)
    profile = recording.finish()
    expect_equal([has_names(profile, target) for target in (targets.open, targets.secret, targets.deleted)], [True] * 3,
                 "which have names")
    expect("capabilities:" not in recording.stderr, recording.stderr)
    expect("fallback_rights" not in profile.log(), "what is missing in the profile")


def test_without_files_of_others(test):
    targets = Targets(test)
    recording = targets.record([name for name in ALL if name != "dac_read_search"])
    profile = recording.finish()
    missing = "without CAP_DAC_READ_SEARCH no names and stacks of files that only others may read"
    expect(f"geckobpf: warning: capabilities: {missing}\n" in recording.stderr, recording.stderr)
    expect_equal(profile.log()["fallback_rights"], missing, "what the profile says")
    expect_equal([has_names(profile, target) for target in (targets.open, targets.secret)], [True, False], "which have names")


def test_without_deleted_files(test):
    targets = Targets(test)
    recording = targets.record([name for name in ALL if name != "checkpoint_restore"])
    profile = recording.finish()
    missing = "without CAP_CHECKPOINT_RESTORE no names and stacks of files that were deleted or replaced"
    expect(f"geckobpf: warning: capabilities: {missing}\n" in recording.stderr, recording.stderr)
    expect_equal([has_names(profile, target) for target in (targets.open, targets.deleted)], [True, False], "which have names")


def test_without_kernel_names(test):
    """What is told to do helps: the capability, and a sysctl only where that hides them, too."""
    targets = Targets(test)
    recording = targets.record([name for name in ALL if name != "syslog"])
    recording.finish()
    with open("/proc/sys/kernel/kptr_restrict", encoding="ascii") as file:
        sysctl = " and sysctl kernel.kptr_restrict=1" if file.read().strip() == "2" else ""
    expect(f"geckobpf: warning: kernel symbols: hidden; kernel frames have no names. To see them: CAP_SYSLOG{sysctl}\n"
           in recording.stderr, recording.stderr)


def test_root_in_a_container(test):
    recording = test.record("--all", "--duration", "1", prefix=with_capabilities(OF_A_CONTAINER, user=None))
    expect_equal(recording.wait(), 1, "the exit status")
    expect_equal(recording.stderr, "geckobpf: root without all its capabilities: missing CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE; "
                 f"{IN_CONTAINER}\n", "the error")
    expect_equal(os.listdir(recording.directory), [], "the directory")


def test_system_calls_that_are_filtered(test):
    """A filter forbids what the capabilities allow."""
    script = ("import ctypes, os, struct, sys\n"
              "rows = [(0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[1])), (6, 0, 0, 0x50001), (6, 0, 0, 0x7fff0000)]\n"
              "class Program(ctypes.Structure): _fields_ = [('count', ctypes.c_ushort), ('rows', ctypes.c_char_p)]\n"
              "program = Program(len(rows), b''.join(struct.pack('HBBI', *row) for row in rows))\n"
              "assert ctypes.CDLL(None).prctl(22, 2, ctypes.byref(program), 0, 0) == 0\n"
              "os.execv(sys.argv[2], sys.argv[2:])\n")
    for call, what in ((BPF, "BPF programs: the kernel does not load them"), (PERF_EVENT_OPEN, "perf events")):
        recording = test.record("--all", "--duration", "1", prefix=[PYTHON, "-c", script, call])
        expect_equal(recording.wait(), 1, "the exit status")
        expect_equal(recording.stderr, f"geckobpf: {what}: {SECCOMP}\n", "the error")


def test_not_mounted(test):
    """Nothing is known without /proc and /sys."""
    for directory, kind in (("/proc", "proc"), ("/sys", "sysfs")):
        path = os.path.join(test.make_directory("out"), "p.json")
        for arguments in ("--all", "-- /bin/true"):
            process = test.start(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                                  f"umount -l {directory} && exec {test.geckobpf} -o {path} {arguments}"])
            expect_equal(process.wait(), 1, f"the exit status without {directory}")
            expect_equal(process.stderr, f"geckobpf: {directory}: not mounted; mount -t {kind} {kind} {directory}\n",
                         "the error")
        expect(not os.path.exists(path), "there is a profile")
    process = test.start(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                          f"umount -l /proc && exec {test.geckobpf} --pid bash"])
    expect_equal(process.wait(), 2, "the exit status")
    expect_match(r"^geckobpf: --pid bash: processes cannot be listed: /proc: No such file", process.stderr, "the error")


def in_mounts(script):
    """The prefix that hides things from geckobpf, as container runtimes do."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'{script} && exec "$0" "$@"']


def refused(recording):
    """What it says."""
    expect_equal(recording.wait(), 1, "the exit status")
    expect_equal(os.listdir(recording.directory), [], "the directory")
    return recording.stderr


def test_hidden_parts_of_sys(test):
    """A container may hide what a kernel has."""
    for directory, what, remedy in (
            ("/sys/kernel", "/sys/kernel/btf/vmlinux: No such file or directory",
             "the kernel must be built with CONFIG_DEBUG_INFO_BTF=y, and a container must not hide /sys/kernel"),
            ("/sys/devices", "/sys/devices/system/cpu/online: not there", "a container must not hide it (docker: --privileged)")):
        recording = test.record("--all", "--duration", "1", prefix=in_mounts(f"mount -t tmpfs tmpfs {directory}"))
        expect_equal(refused(recording), f"geckobpf: {what}; {remedy}\n", "the error")


def test_hidden_parts_of_proc(test):
    """It can do without them; kernel frames have no names, and it says what hides them."""
    target = test.start_target("syscaller")
    hidden = "mount --bind /dev/null /proc/kallsyms && mount -t tmpfs tmpfs /proc/sys && mount --bind /dev/null /proc/stat"
    recording = test.record("--pid", target.pid, "--duration", "0.5", prefix=in_mounts(hidden))
    expect(recording.finish().main_thread(target.pid).samples(), "no samples")
    expect("geckobpf: warning: kernel symbols: /proc/kallsyms: No data available; kernel frames have no names. To see them: a "
           "container must not hide that file (docker: --privileged)\n" in recording.stderr, recording.stderr)


def test_user_namespace(test):
    """Its root has all capabilities, and BPF heeds none of them."""
    recording = test.record("--all", "--duration", "1", prefix=["unshare", "--user", "--map-root-user"])
    expect_equal(refused(recording), "geckobpf: user namespace: not the host's, whose rights BPF needs; run the container as the "
                 "host's root, without a user namespace of its own (docker: --userns=host, podman: sudo podman)\n", "the error")


def test_read_only_directory(test):
    """Without --output a file is made where it runs, and that is what the error is about."""
    mount_point = test.make_directory("read-only")
    for arguments in (["--all"], ["--", "true"]):
        recording = test.record("--duration", "1", *arguments, output=None, prefix=in_mounts(
            f"mount -t tmpfs -o ro tmpfs {mount_point} && cd {mount_point}"))
        expect_equal(refused(recording), "geckobpf: the current directory: cannot write there: Read-only file system; give "
                     "another file with --output\n", "the error")
