# SPDX-License-Identifier: BSD-2-Clause
"""No file is replaced unless that is asked for, nothing that is no file becomes one, and a capture without samples is no
profile."""

import os
import select
import signal
import stat

from harness import Profile, expect, expect_equal, expect_match

BESIDE_OTHERS = True


def run(test, *arguments, **rest):
    """geckobpf with these arguments; returns (status, stdout, stderr)."""
    process = test.start([test.geckobpf, *arguments], **rest)
    process.wait()
    while process.read(0.2):
        pass
    return process.status, process.stdout, process.stderr


def record(test, directory, *options):
    """A recording of a moment, in that directory; returns what it says."""
    status, _, said = run(test, *options, "--", "/bin/true", cwd=directory)
    expect_equal(status, 0, f"the exit status of {options}: {said}")
    return said


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def fill(directory, *names):
    for name in names:
        with open(os.path.join(directory, name), "w", encoding="ascii") as file:
            file.write(f"old {name}")


def expect_kept(directory, said, *pairs):
    """Each old file has its new name, and that was said."""
    for old, kept in pairs:
        expect_equal(read(directory, kept), f"old {old}", kept)
        expect(f"geckobpf: {old}: there was one already; it is {kept} now (--force replaces it)\n" in said, said)


def test_recording_again(test):
    """Whatever it writes: the newest has the name, the others the next free numbers."""
    for name, kept in (("p.json.gz", "p-2.json.gz"), ("p.json.zst", "p-2.json.zst"), ("p.gbpf", "p-2.gbpf")):
        directory = test.make_directory("out")
        fill(directory, name, kept.replace("2", "1"))
        expect_kept(directory, record(test, directory, "-o", name), (name, kept))
        expect_equal(read(directory, kept.replace("2", "1")), f"old {kept.replace('2', '1')}", "the oldest")
        expect(os.path.getsize(os.path.join(directory, name)) > 200, "the new one is not there")
        expect_equal(len(os.listdir(directory)), 3, "the number of files")


def test_force(test):
    directory = test.make_directory("out")
    fill(directory, "p.json", "s.gbpf")
    said = record(test, directory, "--force", "-o", "p.json", "--stream", "s.gbpf")
    expect("there was one" not in said, said)
    expect_equal(sorted(os.listdir(directory)), ["p.json", "s.gbpf"], "the directory")
    Profile(os.path.join(directory, "p.json"))


def test_flight_recorder_again(test):
    """A service that was restarted: neither its profile nor its captures replace those of its first life."""
    target, directory = test.start_target("hot"), test.make_directory("out")
    fill(directory, "flight.json.gz", "flight-1.json.gz")
    recording = test.record_running("--pid", target.pid, "--ring", output="flight.json.gz", directory=directory)
    for number in (2, 3):
        select.select([], [], [], 0.2)
        recording.signal(signal.SIGUSR2)
        recording.wait_for(rf"wrote {directory}/flight-{number}\.json\.gz .*\n", stream="stderr")
    recording.stop()
    expect_equal(sorted(os.listdir(directory)), ["flight-1.json.gz", "flight-2.json.gz", "flight-3.json.gz",
                                                 "flight-4.json.gz", "flight.json.gz"], "the directory")
    expect_equal(read(directory, "flight-1.json.gz"), "old flight-1.json.gz", "the first capture of its first life")
    expect_equal(read(directory, "flight-4.json.gz"), "old flight.json.gz", "the profile of its first life")
    Profile(os.path.join(directory, "flight-2.json.gz"))


def test_convert_again(test):
    directory = test.make_directory("out")
    record(test, directory, "-o", "c.gbpf", "-d", "0.5")
    for name, kept in (("p.json.gz", "p-1.json.gz"), ("p.folded", "p-1.folded"), ("p.pb.gz", "p-1.pb.gz")):
        fill(directory, name)
        status, _, said = run(test, "convert", "c.gbpf", "-o", name, cwd=directory)
        expect_equal(status, 0, f"the exit status: {said}")
        expect_kept(directory, said, (name, kept))
        status, _, said = run(test, "convert", "c.gbpf", "-o", name, "--force", cwd=directory)
        expect_equal((status, "there was one" in said), (0, False), f"with --force: {said}")
    expect_equal(sorted(os.listdir(directory)), ["c.gbpf", "p-1.folded", "p-1.json.gz", "p-1.pb.gz", "p.folded",
                                                 "p.json.gz", "p.pb.gz"], "the directory")


def test_directories_stay(test):
    directory = test.make_directory("out")
    record(test, directory, "-o", "c.gbpf")
    for name in ("d.folded", "d.json"):
        os.mkdir(os.path.join(directory, name))
        status, _, said = run(test, "convert", "c.gbpf", "-o", name, cwd=directory)
        expect_equal(status, 1, f"the exit status: {said}")
        expect_match(rf"geckobpf: {name}: cannot write it: Is a directory", said, "the error")
    expect_equal(sorted(os.listdir(directory)), ["c.gbpf", "d.folded", "d.json"], "the directory")


def test_no_files(test):
    """Pipes and devices are written to, and stay what they are."""
    directory = test.make_directory("out")
    pipe = os.path.join(directory, "p.json")
    record(test, directory, "-o", "/dev/null")
    expect(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null is something else now")
    os.mkfifo(pipe)
    for arguments in (("-o", pipe, "--", "/bin/true"), ("convert", "c.gbpf", "-o", pipe)):
        reader = test.start(["cat", pipe])
        status, _, said = run(test, *arguments, cwd=directory)
        expect_equal((status, reader.wait()), (0, 0), f"the exit statuses: {said}")
        copy = test.write_file("copy.json", reader.stdout)
        expect_match("^true$", Profile(copy).meta["product"], "the product")
        expect(stat.S_ISFIFO(os.stat(pipe).st_mode), "the pipe is something else now")
        if not os.path.exists(os.path.join(directory, "c.gbpf")):
            record(test, directory, "-o", "c.gbpf")
    status, out, said = run(test, "convert", "c.gbpf", "-o", "-", cwd=directory)
    expect_equal(status, 0, f"the exit status of convert -o -: {said}")
    Profile(test.write_file("stdout.json", out))
    expect_equal(sorted(os.listdir(directory)), ["c.gbpf", "p.json"], "the directory")


def test_capture_without_its_samples(test):
    """What is left of a capture that was cut off has no samples: that is said, and there is no empty profile."""
    recording = test.record("--", test.target("hot"), 1, output="c.gbpf")
    expect_equal(recording.wait(), 0, "geckobpf's exit status")
    size = os.path.getsize(recording.path)
    expect(size > 60000, f"the test is wrong: the capture has {size} bytes")
    os.truncate(recording.path, 50000)
    for arguments in (("convert", "c.gbpf", "-o", "p.json.gz"), ("convert", "c.gbpf", "-o", "p.folded"),
                      ("report", "c.gbpf")):
        status, out, said = run(test, *arguments, cwd=recording.directory)
        expect_equal((status, out), (1, ""), f"exit status and stdout of {arguments}: {said}")
        expect_match(r"^geckobpf: c\.gbpf: holds no samples: they are in the part that is cut off or damaged$",
                     said.splitlines()[-1], "the error")
    expect_equal(os.listdir(recording.directory), ["c.gbpf"], "the directory")
