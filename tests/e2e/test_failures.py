# SPDX-License-Identifier: BSD-2-Clause
"""What happens when a profile cannot be written: the cause reaches the user, no half-written file is left, and what was
recorded is saved as a raw capture where there is room."""

import errno
import fcntl
import os
import re
import resource
import select
import signal
import subprocess

from harness import Profile, Skip, alone, burn, busy_children, expect, expect_equal, expect_match, is_alive, kill, wait_until

BESIDE_OTHERS = True

PRIVATE = ["unshare", "--mount", "--propagation", "private", "sh", "-c"]


def convert(test, raw, name="converted.json.gz"):
    """The profile of a raw capture."""
    path = os.path.join(test.make_directory("converted"), name)
    process = test.start([test.geckobpf, "convert", raw, "-o", path])
    expect_equal(process.wait(60), 0, f"the exit status of convert: {process.stderr}")
    return Profile(path)


def expect_whole(test, raw):
    """The raw capture has every sample that was recorded."""
    profile = convert(test, raw)
    recorded = profile.log()["samples_recorded"]
    expect(recorded > 1000, f"only {recorded} samples were recorded")
    expect_equal(sum(len(thread.samples()) for thread in profile.threads), recorded, "the samples of the raw capture")
    profile.expect_nothing_lost()
    return profile


def expect_saved(test, recording, directory, cause, name="profile.gbpf"):
    """It failed for `cause`, and says where the raw capture is and what makes a profile of it."""
    expect_equal(recording.wait(60), 1, "the exit status")
    expect_match(cause, recording.stderr, "the error")
    raw = os.path.join(directory, name)
    expect_equal(os.listdir(directory), [name], f"what was saved; stderr: {recording.stderr}")
    expect_match(rf"saved as a raw capture; .*: geckobpf convert {re.escape(raw)} -o \S+\.json\S*\n", recording.stderr,
                 "the message")
    expect_equal(len(recording.stderr.splitlines()), 3, f"lines: the start, the cause, the rest: {recording.stderr}")
    expect_equal(os.stat(raw).st_mode & 0o777, 0o600, "who may read it")
    return expect_whole(test, raw)


# ---- a disk that is full ---------------------------------------------------------------------------------------------
def record_on_small_disk(test, name, **rest):
    """A recording of a second whose directory holds no more than 16 KiB. Returns it and $TMPDIR."""
    target, directory = test.start_target("threads"), test.make_directory("small")
    elsewhere = test.make_directory("tmpdir")
    recording = test.record(
        "--pid", target.pid, "--duration", "1", "--rate", "20000", directory=directory, output=name,
        env={**os.environ, "TMPDIR": elsewhere},
        prefix=[*PRIVATE, f'mount -t tmpfs -o size=16k tmpfs {directory} && cd / && "$0" "$@"; status=$?; '
                          f'echo "left: $(ls -A {directory} | tr "\\n" " ")"; exit $status'], **rest)
    return recording, elsewhere


def full_disk(test, name):
    recording, elsewhere = record_on_small_disk(test, name)
    expect_saved(test, recording, elsewhere, "no space left")
    expect("left: \n" in recording.stdout, f"a partial file is left: {recording.stdout!r}")
    return recording


@alone
def test_disk_full(test):
    recording = full_disk(test, "profile.json.gz")
    expect_match(rf"{re.escape(recording.path)}: cannot write the profile: no space left", recording.stderr, "the error")
    # The command that is proposed makes the file that was wanted.
    expect(recording.stderr.endswith(f" -o {recording.path}\n"), f"the command: {recording.stderr}")


@alone
def test_disk_full_zst(test):
    full_disk(test, "profile.json.zst")


@alone
def test_disk_full_raw(test):
    recording = full_disk(test, "profile.gbpf")
    expect_match("cannot write the raw capture: no space left", recording.stderr, "the error")


@alone
def test_disk_full_and_so_is_tmpdir(test):
    """$TMPDIR is on the disk that is full: another one is found."""
    target, directory = test.start_target("threads"), test.make_directory("small")
    other = test.make_directory("other")
    recording = test.record(
        "--pid", target.pid, "--duration", "1", "--rate", "20000", directory=directory,
        env={**os.environ, "TMPDIR": directory},
        prefix=[*PRIVATE, f'mount -t tmpfs -o size=16k tmpfs {directory} && mount --bind {other} /var/tmp && '
                          'cd / && exec "$0" "$@"'])
    expect_equal(recording.wait(60), 1, "the exit status")
    expect_match("saved as a raw capture; .* convert /var/tmp/profile.gbpf -o ", recording.stderr, "the message")
    expect_equal(os.listdir(other), ["profile.gbpf"], "what was saved")
    expect_whole(test, os.path.join(other, "profile.gbpf"))


@alone
def test_disks_full_everywhere(test):
    """Nowhere is room: nothing is left, neither half a file nor a temporary one, and both errors are told."""
    target = test.start_target("threads")
    recording = test.record(
        "--pid", target.pid, "--duration", "1", "--rate", "20000", directory="/mnt/out", cwd="/",
        prefix=[*PRIVATE, 'mount -t tmpfs tmpfs /mnt && cp "$0" /mnt/geckobpf && mkdir /mnt/out || exit 99; '
                          'for place in /mnt/out /tmp /var/tmp; do mount -t tmpfs -o size=16k tmpfs $place || exit 99; '
                          'done; cd /tmp; TMPDIR=/tmp /mnt/geckobpf "$@"; status=$?; '
                          'echo "left: $(find /mnt/out /tmp /var/tmp ! -type d | tr "\\n" " ")"; exit $status'])
    expect_equal(recording.wait(60), 1, "the exit status")
    expect_match("/mnt/out/profile.json: cannot write the profile: no space left", recording.stderr, "the error")
    expect_match("cannot write a raw capture either: no space left on device; the recording is lost", recording.stderr,
                 "the last error")
    expect("left: \n" in recording.stdout, f"a file is left: {recording.stdout!r}")


@alone
def test_files_may_not_grow(test):
    """A limit of the size of files is an error as well, not a death by SIGXFSZ."""
    target, directory = test.start_target("threads"), test.make_directory("out")
    elsewhere = test.make_directory("tmpdir")
    recording = test.record(
        "--pid", target.pid, "--duration", "1", "--rate", "10000", directory=directory,
        env={**os.environ, "TMPDIR": elsewhere}, prefix=["sh", "-c", 'ulimit -f 16; cd /proc && exec "$0" "$@"'])
    expect_equal(recording.wait(60), 1, "the exit status")
    expect_match("cannot write the profile: file too large", recording.stderr, "the error")
    for place in (directory, elsewhere):
        expect_equal(os.listdir(place), [], f"what is left in {place}")


def test_disk_full_during_capture(test):
    """A capture that finds no room is saved elsewhere as well, and recording goes on."""
    target, directory = test.start_target("threads"), test.make_directory("small")
    elsewhere = test.make_directory("tmpdir")
    recording = test.record_running(
        "--pid", target.pid, "--rate", "10000", directory=directory, env={**os.environ, "TMPDIR": elsewhere},
        prefix=[*PRIVATE, f'mount -t tmpfs -o size=16k tmpfs {directory} && cd / && exec "$0" "$@"'])
    burn(target.pid, 1.5)
    recording.signal(signal.SIGUSR2)
    recording.wait_for("capture 1: not written; recording goes on", stream="stderr")
    expect_equal(os.listdir(elsewhere), ["profile-1.gbpf"], "what was saved of the capture")
    expect(len(convert(test, os.path.join(elsewhere, "profile-1.gbpf")).thread(name="busy").samples()) > 1000,
           "the capture has no samples")
    recording.signal(signal.SIGINT)
    expect_equal(recording.wait(60), 1, "the exit status")
    expect_equal(sorted(os.listdir(elsewhere)), ["profile-1.gbpf", "profile.gbpf"], "what was saved")
    expect_whole(test, os.path.join(elsewhere, "profile.gbpf"))


@alone
def test_nothing_is_replaced(test):
    """A raw capture that was saved before stays."""
    recording, elsewhere = record_on_small_disk(test, "profile.json")
    with open(os.path.join(elsewhere, "profile.gbpf"), "w", encoding="ascii") as file:
        file.write("of yesterday")
    expect_equal(recording.wait(60), 1, "the exit status")
    expect_equal(sorted(os.listdir(elsewhere)), ["profile-2.gbpf", "profile.gbpf"], "$TMPDIR")
    with open(os.path.join(elsewhere, "profile.gbpf"), encoding="ascii") as file:
        expect_equal(file.read(), "of yesterday", "the file that was there")


# ---- a disk that fails -----------------------------------------------------------------------------------------------
def failing(test, path, after, error, write_us=0):
    """The environment in which writing to `path` fails after so many bytes; `error` 0: the process stops there. Each
    write takes so long."""
    library = os.path.join(test.build, "tests", "e2e", "fail_write.so")
    expect(os.path.exists(library), f"there is no {library}; run: make targets")
    env = {**os.environ, "LD_PRELOAD": library, "FAIL_WRITE_PATH": path, "FAIL_WRITE_AFTER": str(after),
           "FAIL_WRITE_ERRNO": str(error), "FAIL_WRITE_US": str(write_us), "TMPDIR": test.make_directory("tmpdir")}
    said = subprocess.run([test.geckobpf, "--version"], env={**env, "FAIL_WRITE_SAY": "1"}, capture_output=True, text=True,
                          check=False)
    if "fail_write is there" not in said.stderr:
        raise Skip("nothing can be preloaded into this geckobpf: it is static or sanitized")
    return env


def broken_disk(test, name, after, error):
    target, directory = test.start_target("threads"), test.make_directory("broken")
    env = failing(test, directory, after, error)
    recording = test.record("--pid", target.pid, "--duration", "0.5", "--rate", "20000", directory=directory, output=name,
                            env=env)
    expect_saved(test, recording, env["TMPDIR"], os.strerror(error))
    expect_equal(os.listdir(directory), [], "the directory of the disk that failed")


@alone
def test_input_output_error(test):
    for name, after in (("profile.json.gz", 10000), ("profile.json", 0), ("profile.gbpf", 10000)):
        broken_disk(test, name, after, errno.EIO)


@alone
def test_quota_and_others(test):
    for error in (errno.EDQUOT, errno.EROFS):
        broken_disk(test, "profile.json.gz", 1000, error)


# ---- memory ----------------------------------------------------------------------------------------------------------
def address_space_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(re.search(r"VmSize:\s*(\d+) kB", file.read()).group(1)) * 1024


def test_out_of_memory(test):
    """Memory that is too little for the kernel's symbols is enough for a raw capture."""
    target, directory = test.start_target("threads"), test.make_directory("out")
    # One arena: others are address space that is there already, and which thread gets one is chance.
    env = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    recording = test.record_running("--pid", target.pid, "--rate", "10000", directory=directory, env=env)
    burn(target.pid, 1.5)
    limit = address_space_bytes(recording.pid) + (4 << 20)
    resource.prlimit(recording.pid, resource.RLIMIT_AS, (limit, limit))
    recording.signal(signal.SIGINT)
    # Not the disk's fault: it is where the profile would be.
    expect_saved(test, recording, directory, "profile.json: cannot write the profile: symbols: cannot allocate memory\n")


# ---- a reader that goes away -----------------------------------------------------------------------------------------
def blocked_writer(test):
    """A recording that wants to write more to stdout than its reader reads: it is in the middle of writing."""
    target = test.start_target("threads")
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    directory = test.make_directory("out")
    env = {**os.environ, "TMPDIR": test.make_directory("tmpdir")}
    recording = test.record("--pid", target.pid, "--rate", "10000", "-o", "-", output=None, stdout=writer,
                            directory=directory, env=env)
    os.close(writer)
    recording.wait_started()
    burn(target.pid, 2)
    recording.signal(signal.SIGINT)
    expect(select.select([reader], [], [], 20)[0], "it does not begin to write")
    return recording, reader, env["TMPDIR"]


def test_reader_goes_away(test):
    """Part of a profile is of no use to anybody, so what was recorded is not lost with its reader."""
    recording, reader, temporary = blocked_writer(test)
    os.close(reader)
    expect_equal(recording.wait(30), 1, "the exit status")
    expect_equal(os.listdir(recording.directory), [], "the directory")
    saved = os.listdir(temporary)
    expect(len(saved) == 1 and re.fullmatch(r"threads-\d+-\d+-\d+\.gbpf", saved[0]), f"$TMPDIR has {saved}")
    expect_saved(test, recording, temporary, "stdout: its reader went away", saved[0])


def test_second_interrupt_while_writing(test):
    recording, reader, temporary = blocked_writer(test)
    expect(recording.popen.poll() is None, "the profile was too small for the test")
    recording.signal(signal.SIGINT)
    expect_equal(recording.wait(10), 1, "the exit status")
    os.close(reader)
    expect_match("interrupted while writing; nothing was saved", recording.stderr, "the error")
    expect_equal(os.listdir(recording.directory), [], "the directory")
    expect_equal(os.listdir(temporary), [], "$TMPDIR")


# ---- signals ---------------------------------------------------------------------------------------------------------
def is_stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


def test_second_interrupt_removes_file(test):
    """A file that is being written when the second one comes is whole, or not there."""
    target, directory = test.start_target("threads"), test.make_directory("out")
    recording = test.record("--pid", target.pid, "--rate", "20000", directory=directory, output="p.json")
    recording.wait_started()
    burn(target.pid, 2.5)
    recording.signal(signal.SIGINT)
    # Both signals may come before the first byte is written, or the second after the last: never half a file.
    wait_until(lambda: os.listdir(directory) or recording.popen.poll() is not None, "the file")
    recording.signal(signal.SIGINT)
    if recording.wait(20) == 0:
        Profile(recording.path)
    else:
        expect_equal(os.listdir(directory), [], "the directory")


def terminate_while_saving(test, name):
    """The first signal saves; the next one, in the middle of that, gives up: nothing is left."""
    target, directory = test.start_target("threads"), test.make_directory("out")
    env = failing(test, directory, 300000, 0)
    recording = test.record_running("--pid", target.pid, "--rate", "20000", directory=directory, output=name, env=env)
    burn(target.pid, 2)
    recording.signal(signal.SIGTERM)
    wait_until(lambda: is_stopped(recording.pid), "the moment in which it writes")
    expect_match(rf"^\.{name}\.\d+\.tmp$", os.listdir(directory)[0], "what is being written")
    recording.signal(signal.SIGTERM)
    recording.signal(signal.SIGCONT)
    expect_equal(recording.wait(30), 1, "the exit status")
    expect_match("interrupted while writing; nothing was saved", recording.stderr, "the error")
    expect_equal(os.listdir(directory), [], "the directory")
    expect_equal(os.listdir(env["TMPDIR"]), [], "$TMPDIR")


def test_terminate_while_saving(test):
    terminate_while_saving(test, "profile.json")


def test_rescue(test):
    """The second signal gives the profile up for a raw capture, which is whole."""
    target, directory = test.start_target("threads"), test.make_directory("out")
    env = failing(test, directory, 300000, 0)
    recording = test.record_running("--pid", target.pid, "--rate", "20000", "--rescue", directory=directory, env=env)
    burn(target.pid, 2)
    recording.signal(signal.SIGTERM)
    wait_until(lambda: is_stopped(recording.pid), "the moment in which it writes")
    recording.signal(signal.SIGTERM)
    recording.signal(signal.SIGCONT)
    expect_equal(recording.wait(30), 1, "the exit status")
    expect_equal(os.listdir(directory), ["profile.gbpf"], "the directory")
    expect_match(r"interrupted while writing\n(.*\n)*.*saved as a raw capture; .* convert ", recording.stderr, "the messages")
    expect_whole(test, os.path.join(directory, "profile.gbpf"))


def test_second_interrupt_during_capture(test):
    """A capture whose process hangs is not waited for when it is told twice to end."""
    target = test.start_target("hot")
    recording = test.record_running("--pid", target.pid)
    burn(target.pid, 0.2)
    recording.signal(signal.SIGUSR2)
    child = wait_until(lambda: busy_children(recording.pid), "a capture to begin")[0]
    kill(child, signal.SIGSTOP)
    # As often as it takes: two that come together are one.
    wait_until(lambda: recording.signal(signal.SIGINT) or recording.popen.poll() is not None, "the end")
    expect_equal(recording.wait(), 1, "the exit status")
    expect(not is_alive(child), "the process that was to write the capture is left")
    expect_match("interrupted while writing; nothing was saved", recording.stderr, "the error")
    expect_equal(os.listdir(recording.directory), [], "the directory")


def test_terminate_while_saving_raw(test):
    terminate_while_saving(test, "profile.gbpf")


def stopped_capture(test, name):
    """A recording and the process that stands still in the middle of writing its capture 1."""
    target, directory = test.start_target("threads"), test.make_directory("out")
    env = failing(test, name.replace(".", "-1.", 1), 300000, 0)
    recording = test.record_running("--pid", target.pid, "--rate", "20000", directory=directory, output=name, env=env)
    burn(target.pid, 2)
    recording.signal(signal.SIGUSR2)
    child = wait_until(lambda: [pid for pid in busy_children(recording.pid) if is_stopped(pid)], "the capture")[0]
    return recording, child


def terminate_during_capture(test, name):
    """The recording ends while a capture is being written: both files are whole."""
    recording, child = stopped_capture(test, name)
    recording.signal(signal.SIGTERM)
    kill(child, signal.SIGCONT)
    expect_equal(recording.wait(60), 0, f"the exit status: {recording.stderr}")
    first = name.replace(".", "-1.", 1)
    expect_equal(sorted(os.listdir(recording.directory)), sorted([first, name]), "the directory")
    for each in (first, name):
        path = os.path.join(recording.directory, each)
        profile = convert(test, path) if name.endswith(".gbpf") else Profile(path)
        expect(len(profile.thread(name="busy").samples()) > 1000, f"{each} has too few samples")


def test_terminate_during_capture(test):
    terminate_during_capture(test, "profile.json")


def test_terminate_during_raw_capture(test):
    terminate_during_capture(test, "profile.gbpf")


def test_terminate_the_capture_alone(test):
    """The one that writes gives up, the recording goes on."""
    recording, child = stopped_capture(test, "profile.json")
    kill(child, signal.SIGTERM)
    kill(child, signal.SIGCONT)
    recording.wait_for("capture 1: not written; recording goes on", stream="stderr")
    expect_equal(os.listdir(recording.directory), [], "the directory")
    expect(len(recording.stop().thread(name="busy").samples()) > 1000, "the profile has too few samples")
    expect_equal(os.listdir(recording.directory), ["profile.json"], "the directory")


# ---- other commands --------------------------------------------------------------------------------------------------
def record_raw(test):
    target = test.start_target("threads")
    recording = test.record_running("--pid", target.pid, "--rate", "10000", output="capture.gbpf")
    burn(target.pid, 1.5)
    recording.signal(signal.SIGINT)
    expect_equal(recording.wait(), 0, "geckobpf's exit status")
    return recording.path


def test_convert_on_full_disk(test):
    raw = record_raw(test)
    for name in ("p.json.gz", "p.json", "p.pb.gz", "p.folded"):
        directory = test.make_directory("small")
        path = os.path.join(directory, name)
        process = test.start([*PRIVATE, f'mount -t tmpfs -o size=4k tmpfs {directory} && echo > {directory}/full && '
                                        '"$0" "$@"; status=$?; '
                                        f'echo "left: $(ls -A {directory})"; exit $status',
                              test.geckobpf, "convert", raw, "-o", path])
        expect_equal(process.wait(60), 1, f"the exit status of convert to {name}")
        expect_match(rf"^geckobpf: {re.escape(path)}: cannot write it: no space left on device; give another file with -o$",
                     process.stderr.strip(), "the error")
        expect_equal(process.stdout, "left: full\n", "what is left")


def test_convert_on_broken_disk(test):
    raw, directory = record_raw(test), test.make_directory("broken")
    path = os.path.join(directory, "p.json.gz")
    process = test.start([test.geckobpf, "convert", raw, "-o", path], env=failing(test, directory, 1000, errno.EIO))
    expect_equal(process.wait(60), 1, "the exit status")
    expect_match("cannot write it: input/output error", process.stderr, "the error")
    expect_equal(os.listdir(directory), [], "the directory")


def test_report_to_full_disk(test):
    raw = record_raw(test)
    with open("/dev/full", "w", encoding="ascii") as full:
        for arguments in ([], ["--folded"]):
            process = test.start([test.geckobpf, "report", raw, *arguments], stdout=full)
            expect_equal(process.wait(60), 1, "the exit status")
            expect_match("stdout: cannot write the report: no space left", process.stderr, "the error")


def test_convert_is_interrupted(test):
    """A signal ends it at once, and its file with it."""
    raw = record_raw(test)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        directory = test.make_directory("out")
        process = test.start([test.geckobpf, "convert", raw, "-o", os.path.join(directory, "p.json")],
                             env=failing(test, directory, 100000, 0))
        wait_until(lambda: is_stopped(process.pid), "the moment in which it writes")  # pylint: disable=cell-var-from-loop
        expect_equal(len(os.listdir(directory)), 1, "files while it writes")
        process.signal(number)
        process.signal(signal.SIGCONT)
        expect_equal(process.wait(10), -number, "the exit status")
        expect_equal(os.listdir(directory), [], "the directory")
