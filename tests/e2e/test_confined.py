# SPDX-License-Identifier: BSD-2-Clause
"""What a recorder gives up before it looks at others' programs, and that the command it starts has lost none of it."""

import os
import re
import resource
import shutil
import signal

from harness import Profile, busy_children, expect, expect_equal, wait_until

BESIDE_OTHERS = True

NOBODY = 65534
CAPABILITIES = {"CHOWN": 0, "DAC_OVERRIDE": 1, "DAC_READ_SEARCH": 2, "KILL": 5, "SYS_PTRACE": 19, "SYS_NICE": 23, "SYSLOG": 34,
                "PERFMON": 38, "BPF": 39, "CHECKPOINT_RESTORE": 40}
RECORDING = {"DAC_READ_SEARCH", "SYS_PTRACE", "SYSLOG", "PERFMON", "BPF", "CHECKPOINT_RESTORE"}
SETS = ("CapPrm", "CapEff", "CapBnd")
FILTERED = "2"
LOOP = ["sh", "-c", "while :; do :; done"]


def status(path):
    with open(os.path.join(path, "status"), encoding="utf-8", errors="replace") as file:
        return dict(re.findall(r"^(\w+):\s*(.*)$", file.read(), re.MULTILINE))


def capabilities(text):
    number = int(text, 16)
    names = {value: name for name, value in CAPABILITIES.items()}
    return {names.get(bit, str(bit)) for bit in range(64) if number >> bit & 1}


def held_by_test():
    return capabilities(status("/proc/self")["CapBnd"])


def has_none(path):
    """None that recording takes; or it has ended."""
    try:
        return capabilities(status(path)["CapPrm"]) <= {"SYS_NICE"}
    except OSError:
        return True


def check_recorder(recording, more=()):
    """Its main thread has what recording takes; what helps it has nothing, but for a say in its own priority."""
    expected = {*RECORDING, *more} & held_by_test()
    of_main = status(f"/proc/{recording.pid}")
    for name in SETS:
        expect_equal(capabilities(of_main[name]), expected, f"{name} of the recorder")
    for name in ("CapInh", "CapAmb"):
        expect_equal(capabilities(of_main[name]), set(), f"{name} of the recorder")
    threads = [f"/proc/{recording.pid}/task/{tid}" for tid in os.listdir(f"/proc/{recording.pid}/task")]
    for path in threads:
        expect_equal(status(path)["Seccomp"], FILTERED, "whether system calls of a thread are filtered")
        expect_equal(status(path)["NoNewPrivs"], "1", "whether a thread may not gain rights")
        if int(os.path.basename(path)) != recording.pid:
            wait_until(lambda path=path: has_none(path), "a helping thread to give up its capabilities")


def command_of(recording):
    return wait_until(lambda: busy_children(recording.pid), "the command")[0]


def end(recording):
    """The signal is the command's, too, and so is the exit status."""
    recording.signal(signal.SIGTERM)
    return recording.finish(status=128 + signal.SIGTERM)


def test_recorder(test):
    recording = test.record_running("--", *LOOP)
    check_recorder(recording)
    end(recording).expect_nothing_lost()


def limits(pid):
    with open(f"/proc/{pid}/limits", encoding="ascii") as file:
        return file.read()


def test_command(test):
    """Capabilities, limits, and whether setuid programs work, are those of whoever started geckobpf."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(300, before[0]), before[1]))
    test.at_end.append(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, before))
    recording = test.record_running("--", *LOOP)
    command = command_of(recording)
    ours, theirs = status("/proc/self"), status(f"/proc/{command}")
    for name in (*SETS, "CapInh", "CapAmb", "NoNewPrivs", "Seccomp"):
        expect_equal(theirs[name], ours[name], f"{name} of the command")
    expect_equal(limits(command), limits(os.getpid()), "the limits of the command")
    end(recording)


def as_of_sudo(**rest):
    return {**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY), **rest}


def test_for_the_user_behind_sudo(test):
    """It can still give files to that user, in directories of that user, and pass signals on to the command."""
    directory = test.make_directory("theirs")
    os.chown(directory, NOBODY, NOBODY)
    recording = test.record_running("--", *LOOP, directory=directory, env=as_of_sudo())
    command = command_of(recording)
    check_recorder(recording, ("CHOWN", "DAC_OVERRIDE", "KILL"))
    theirs = status(f"/proc/{command}")
    expect_equal(capabilities(theirs["CapEff"]), set(), "the capabilities of the user's command")
    expect_equal(capabilities(theirs["CapBnd"]), held_by_test(), "those that setuid programs can give it")
    recording.signal(signal.SIGTERM)
    recording.wait()
    wait_until(lambda: not os.path.exists(f"/proc/{command}"), "the command to end by the signal that was passed on")
    expect(Profile(recording.path).threads, "there is no profile")
    expect_equal(os.stat(recording.path).st_uid, NOBODY, "the owner of the profile")


def test_own_directory(test):
    """Where root may write anyway, sudo costs only what it takes to give the file away."""
    recording = test.record_running("--all", env=as_of_sudo())
    check_recorder(recording, ("CHOWN",))
    recording.stop()


def test_without_setpcap(test):
    """Of a service with few capabilities the bounding set stays as it is; all others are given up, and what is kept is for
    processes of our own program, too."""
    chosen = "-all,+bpf,+perfmon,+sys_ptrace,+syslog,+sys_nice,+kill"
    test.geckobpf = shutil.copy(test.geckobpf, os.path.join(test.directory, "geckobpf"))
    directory = test.make_directory("theirs")
    os.chown(directory, NOBODY, NOBODY)
    prefix = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", "--inh-caps", chosen,
              "--ambient-caps", chosen, "--bounding-set", chosen]
    recording = test.record_running("--all", directory=directory, prefix=prefix)
    of_main = status(f"/proc/{recording.pid}")
    for name in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
        expect_equal(capabilities(of_main[name]), {"BPF", "PERFMON", "SYS_PTRACE", "SYSLOG"}, f"{name} of the recorder")
    recording.stop()


def test_closed_descriptors(test):
    """No file of the recorder's own takes the place of a standard stream that is closed."""
    for closed in ("<&-", "<&- >&- 2>&-", ">&-", "2>&-"):
        prefix = ["sh", "-c", f'exec "$@" {closed}', "sh"]
        recording = test.record("--duration", 0.5, "--", *LOOP, prefix=prefix)
        command = command_of(recording)
        for fd in range(3):
            found = {os.readlink(f"/proc/{pid}/fd/{fd}") for pid in (recording.pid, command)}
            expect(all(name == "/dev/null" or name.startswith("pipe:") for name in found),
                   f"descriptor {fd} with {closed} is {found}")
        recording.signal(signal.SIGTERM)
        recording.wait()
        expect(Profile(recording.path).threads, f"there is no profile with {closed}")
