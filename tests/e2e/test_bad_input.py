# SPDX-License-Identifier: BSD-2-Clause
"""Bad input and bad days: one line that names the object and the remedy, a non-zero exit status, nothing
half-written."""

import os
import re
import shutil
import signal
import time

from harness import (Profile, Skip, alone, burn, children, expect, expect_equal, expect_match, kill, unused_pid, wait_until)

BESIDE_OTHERS = True

NOBODY = 65534
MAX_RATE = "/proc/sys/kernel/perf_event_max_sample_rate"


def error_lines(recording):
    """argp's hint where to look ("Try ...") is no line of its own."""
    return [line for line in recording.stderr.splitlines() if line and not line.startswith("Try ")]


def expect_refused(recording, *patterns, status=None, patience_s=15):
    """It ends with one line of error that matches all patterns, and leaves nothing behind."""
    got = recording.wait(patience_s)
    if status is None:
        expect(got > 0, f"the exit status is {got}; stderr: {recording.stderr!r}")
    else:
        expect_equal(got, status, "the exit status")
    lines = error_lines(recording)
    expect(len(lines) == 1, f"{len(lines)} lines of error, not 1: {recording.stderr!r}")
    expect_match("^geckobpf: ", lines[0], "the error")
    for pattern in patterns:
        expect_match(pattern, lines[0], "the error")
    expect_equal(recording.stdout, "", "stdout")
    if os.path.isdir(recording.directory):
        expect_equal(os.listdir(recording.directory), [], "the output directory")


def refuse(test, arguments, *patterns, status=None, **rest):
    expect_refused(test.record(*arguments, **rest), *patterns, status=status)


# ---- who asks --------------------------------------------------------------------------------------------------------
def unprivileged(test, *prefix):
    """geckobpf where everybody can run it, with a target of its own user."""
    path = os.path.join(test.directory, "geckobpf")
    shutil.copy(test.geckobpf, path)
    os.chmod(path, 0o755)
    test.geckobpf = path
    directory = test.make_directory("out")
    os.chown(directory, NOBODY, NOBODY)
    target = test.start_target(test.copy_target("hot"))
    return test.record("--pid", target.pid, "--duration", "5", directory=directory, prefix=prefix)


def test_not_root(test):
    recording = unprivileged(test, "setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups")
    expect_refused(recording, r"CAP_(BPF|SYS_ADMIN)", r"CAP_PERFMON|CAP_SYS_ADMIN", "sudo|root")


def test_missing_capabilities(test):
    recording = unprivileged(test, "setpriv", "--bounding-set", "-bpf,-perfmon,-sys_admin",
                             "--inh-caps", "-bpf,-perfmon,-sys_admin")
    expect_refused(recording, "CAP_BPF", "CAP_PERFMON")


def test_missing_one_capability(test):
    recording = unprivileged(test, "setpriv", "--bounding-set", "-perfmon,-sys_admin", "--inh-caps", "-perfmon,-sys_admin")
    expect_refused(recording, "CAP_PERFMON")
    expect("CAP_BPF" not in recording.stderr, f"it names a capability that is there: {recording.stderr!r}")


def test_no_btf(test):
    target = test.start_target("hot")
    recording = test.record("--pid", target.pid, prefix=[
        "unshare", "--mount", "--propagation", "private", "sh", "-c",
        'mount -t tmpfs tmpfs /sys/kernel/btf && exec "$0" "$@"'])
    expect_refused(recording, "BTF", r"vmlinux|CONFIG_DEBUG_INFO_BTF")


def test_old_kernel(test):
    target = test.start_target("hot")
    recording = test.record("--pid", target.pid, prefix=["setarch", "--uname-2.6"])
    expect_refused(recording, r"kernel", r"\b2\.6\.\d+|old")


# ---- whom ------------------------------------------------------------------------------------------------------------
def test_no_such_pid(test):
    pid = unused_pid()
    refuse(test, ["--pid", pid], rf"\b{pid}\b", "no such process|not exist|no process")


def test_pid_that_is_none(test):
    for text in ("0", "-5", "no-such-name", "12x", "99999999999999999999", ""):
        refuse(test, [f"--pid={text}"], re.escape(text) if text else "pid", "pid|process")


def test_one_of_two_pids(test):
    target, pid = test.start_target("hot"), unused_pid()
    refuse(test, ["--pid", f"{target.pid},{pid}"], rf"\b{pid}\b")


def test_thread_instead_of_process(test):
    target = test.start_target("threads")
    tid = max(int(tid) for tid in os.listdir(f"/proc/{target.pid}/task"))
    refuse(test, ["--pid", tid], rf"\b{tid}\b", r"thread", rf"\b{target.pid}\b")


def kernel_threads():
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                    # The flag PF_KTHREAD.
                    if int(file.read().rpartition(")")[2].split()[6]) & 0x200000:
                        yield int(name)
            except OSError:
                pass


def test_kernel_thread(test):
    pid = next(kernel_threads(), None)
    if not pid:
        raise Skip("no kernel thread is visible here")
    refuse(test, ["--pid", pid], rf"\b{pid}\b", "kernel thread")


def test_zombie(test):
    target = test.start(["sh", "-c", "true & exec sleep 100"])
    child = wait_until(lambda: children(target.pid), "a child")[0]

    def dead():
        with open(f"/proc/{child}/stat", encoding="ascii") as file:
            return ") Z " in file.read()
    wait_until(dead, "the child's end")
    refuse(test, ["--pid", child], rf"\b{child}\b", "zombie|exited|has ended|dead")


def test_pid_of_another_namespace(test):
    """The pid a container shows is not the pid outside; the error names that one."""
    wanted = next(pid for pid in range(20, 30000) if not os.path.exists(f"/proc/{pid}"))
    script = (f"import os\n"
              f"while True:\n"
              f"    child = os.fork()\n"
              f"    if not child:\n"
              f"        if os.getpid() != {wanted}: os._exit(0)\n"
              f"        os.execl({test.target('hot')!r}, 'hot')\n"
              f"    if child == {wanted}: print('there', flush=True)\n"
              f"    os.waitpid(child, 0)\n")
    target = test.start(["unshare", "--pid", "--fork", "--mount-proc", "/usr/bin/python3", "-c", script])
    target.wait_for(f"ready {wanted}\n", 60)
    expect(not os.path.exists(f"/proc/{wanted}"), f"pid {wanted} came to be outside, too")
    outside = children(children(target.pid)[0])[0]
    refuse(test, ["--pid", wanted], rf"\b{wanted}\b", rf"\b{outside}\b", "namespace|container")


# ---- how -------------------------------------------------------------------------------------------------------------
def test_rate_out_of_range(test):
    target = test.start_target("hot")
    for text in ("0", "20001", "-1", "abc", "1000.5x", "1e99"):
        refuse(test, ["--pid", target.pid, f"--rate={text}"], re.escape(text), "20000")


@alone
def test_rate_over_the_kernels_limit(test):
    target = test.start_target("hot")
    with open(MAX_RATE, encoding="ascii") as file:
        limit = file.read().strip()

    def restore():
        with open(MAX_RATE, "w", encoding="ascii") as file:
            file.write(limit)
    try:
        with open(MAX_RATE, "w", encoding="ascii") as file:
            file.write("500")
    except OSError as error:
        raise Skip(f"kernel.perf_event_max_sample_rate cannot be set: {error}") from None
    test.at_end.append(restore)
    refuse(test, ["--pid", target.pid, "--rate", "1000"], r"\b1000\b", r"\b500\b", "perf_event_max_sample_rate")
    test.record("--pid", target.pid, "--rate", "400", "--duration", "0.2").finish()


def test_bad_duration(test):
    target = test.start_target("hot")
    for text in ("0", "-1", "abc", "1x", "nan", "inf"):
        refuse(test, ["--pid", target.pid, f"--duration={text}"], re.escape(text), "duration|seconds")


def test_unknown_option(test):
    refuse(test, ["--bogus"], "--bogus")


def test_unknown_symbols(test):
    target = test.start_target("hot")
    refuse(test, ["--pid", target.pid, "--symbols=bogus"], "bogus", "addresses")


def test_no_target(test):
    refuse(test, [], "--pid", "--all|COMMAND")


def test_two_kinds_of_target(test):
    target = test.start_target("hot")
    refuse(test, ["--pid", target.pid, "--", "true"], "--pid", "COMMAND")
    refuse(test, ["--pid", target.pid, "--all"], "--pid", "--all")
    refuse(test, ["--all", "--", "true"], "--all", "COMMAND")


# ---- where to --------------------------------------------------------------------------------------------------------
def refuse_output(test, path, *patterns):
    """Before the recording, not after it."""
    target = test.start_target("hot")
    start = time.monotonic()
    refuse(test, ["--pid", target.pid, "--duration", "20", "-o", path], *patterns, output=None)
    expect(time.monotonic() - start < 10, "it recorded before it looked at the output")


def test_output_directory_missing(test):
    path = os.path.join(test.directory, "missing", "p.json")
    refuse_output(test, path, re.escape(os.path.dirname(path)), "no such file or directory|does not exist|missing")
    expect(not os.path.exists(os.path.dirname(path)), "it made the directory")


def test_output_directory_read_only(test):
    target, directory = test.start_target("hot"), test.make_directory("read-only")
    recording = test.record("--pid", target.pid, "--duration", "20", directory=directory, prefix=[
        "unshare", "--mount", "--propagation", "private", "sh", "-c",
        f'mount -t tmpfs -o ro tmpfs {directory} && exec "$0" "$@"'])
    expect_refused(recording, re.escape(directory), "read-only|not writable|cannot write")


def test_output_in_proc(test):
    refuse_output(test, "/proc/p.json", "/proc")


def test_output_is_a_directory(test):
    path = test.make_directory("p.json")
    refuse_output(test, path, re.escape(path), "directory")
    expect_equal(os.listdir(path), [], "that directory")


def test_unknown_suffix(test):
    for name in ("p.txt", "p", "p.json.xz", "json.gz"):
        directory = test.make_directory("out")
        refuse_output(test, os.path.join(directory, name), re.escape(name), r"\.json", r"\.json\.gz")
        expect_equal(os.listdir(directory), [], "the output directory")


# ---- COMMAND ---------------------------------------------------------------------------------------------------------
def test_command_not_found(test):
    refuse(test, ["--", "geckobpf-no-such-command"], "geckobpf-no-such-command", "not found|no such file", status=127)
    refuse(test, ["--", "/nonexistent/command"], "/nonexistent/command", "not found|no such file", status=127)


def test_command_not_executable(test):
    path = test.write_file("plain", "no program")
    refuse(test, ["--", path], re.escape(path), "permission denied|not executable", status=126)
    refuse(test, ["--", test.directory], re.escape(test.directory), "permission denied|directory", status=126)


def test_command_without_magic(test):
    """A script without "#!" is run by the shell, as execvp(3) has it."""
    path = test.write_file("script", "exit 5\n")
    os.chmod(path, 0o755)
    test.record("--", path).finish(5)


def test_command_exits_at_once(test):
    for arguments, status in ((["true"], 0), (["false"], 1)):
        recording = test.record("--", *arguments)
        profile = recording.finish(status)
        expect(profile.threads, "there is no thread")
        names = {process for process, _, _, _ in test.client(profile).threads()}
        expect_equal(names, {arguments[0]}, "the processes the client shows")


def test_pid_exits_at_once(test):
    for _ in range(5):
        target = test.start(["sleep", "0.15"])
        recording = test.record("--pid", target.pid)
        status = recording.wait()
        if status == 0:
            Profile(recording.path)
        else:
            expect_refused(recording, rf"\b{target.pid}\b")


def test_killed_without_mercy(test):
    """What is left when it cannot clean up: no profile under the final name, and the target unharmed."""
    target = test.start_target("hot")
    recording = test.record_running("--pid", target.pid)
    kill(recording.pid, signal.SIGKILL)
    recording.wait()
    expect(not os.path.exists(recording.path), "half a profile has the final name")
    expect(target.popen.poll() is None, "the target died")
    recording = test.record_running("--pid", target.pid)
    burn(target.pid, 0.1)
    again = recording.stop()
    expect(len(again.main_thread(target.pid).samples()) > 30, "the next recording is not right")
