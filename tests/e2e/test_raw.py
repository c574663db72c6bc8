# SPDX-License-Identifier: BSD-2-Clause
"""Raw captures: what was recorded goes into a file as it is, and becomes a profile later."""

import os
import zlib

from harness import Profile, burn, expect, expect_equal

BESIDE_OTHERS = True


def record_raw(test, *arguments):
    recording = test.record(*arguments, output="capture.gbpf")
    expect_equal(recording.wait(), 0, "geckobpf's exit status")
    expect("a raw capture of" in recording.stderr, f"the summary: {recording.stderr}")
    return recording


def run(test, *arguments):
    """geckobpf with these arguments; returns (status, stdout, stderr)."""
    process = test.start([test.geckobpf, *arguments])
    process.wait()
    while process.read(0.2):
        pass
    return process.status, process.stdout, process.stderr


def test_convert(test):
    """The profile of a raw capture has names, kernel functions and nothing lost, and loads."""
    recording = record_raw(test, "--", test.target("hot"), 1)
    path = os.path.join(recording.directory, "profile.json.gz")
    status, _, stderr = run(test, "convert", recording.path, "-o", path)
    expect_equal(status, 0, f"the exit status of convert: {stderr}")
    profile = Profile(path)
    thread = profile.thread(name="GeckoMain", process_name="hot")
    expect(len(thread.samples()) > 20, f"only {len(thread.samples())} samples")
    expect(thread.total_share("main") > 0.95, f"main is on {thread.total_share('main'):.3f} of the stacks")
    profile.expect_nothing_lost()
    test.client(profile)
    said = int(recording.stderr.split("a raw capture of ")[1].split()[0])
    expect_equal(said, sum(len(each.samples()) for each in profile.threads), "samples, as the summary tells them")


def test_report_and_folded(test):
    recording = record_raw(test, "--", test.target("hot"), 0.6)
    status, report, stderr = run(test, "report", recording.path, "--top", 5)
    expect_equal(status, 0, f"the exit status of report: {stderr}")
    expect("hot_inner (in hot)" in report, f"the report: {report}")
    folded = os.path.join(recording.directory, "out.folded")
    status, _, stderr = run(test, "convert", recording.path, "-o", folded)
    expect_equal(status, 0, f"the exit status of convert: {stderr}")
    with open(folded, encoding="utf-8") as file:
        expect(any(";hot_inner" in line for line in file), "hot_inner is not in the folded stacks")
    expect_equal(sorted(os.listdir(recording.directory)), ["capture.gbpf", "out.folded"], "the directory")


def test_capture_while_recording(test):
    target = test.start_target("hot")
    recording = test.record_running("--pid", target.pid, output="flight.gbpf")
    burn(target.pid, 0.1)
    recording.signal(12)  # SIGUSR2
    recording.wait_for(r"wrote \S*flight-1.gbpf .*\n", stream="stderr")
    recording.signal(2)
    expect_equal(recording.wait(), 0, "geckobpf's exit status")
    path = os.path.join(recording.directory, "one.json")
    status, _, stderr = run(test, "convert", os.path.join(recording.directory, "flight-1.gbpf"), "-o", path)
    expect_equal(status, 0, f"the exit status of convert: {stderr}")
    expect(len(Profile(path).main_thread(target.pid).samples()) > 30, "too few samples in the capture")


def test_cut_off(test):
    """A file that was cut off yields what is before the cut, and a warning."""
    recording = record_raw(test, "--", test.target("threads"), 1)
    size = os.path.getsize(recording.path)
    os.truncate(recording.path, size - 40)
    path = os.path.join(recording.directory, "profile.json")
    status, _, stderr = run(test, "convert", recording.path, "-o", path)
    expect_equal(status, 0, f"the exit status of convert: {stderr}")
    expect("damaged or cut off" in stderr, f"no warning: {stderr}")
    expect(sum(len(thread.samples()) for thread in Profile(path).threads) > 200, "too few samples")


def check_refused(test, path, cause):
    status, _, stderr = run(test, "convert", path, "-o", os.path.join(test.directory, "x.json"))
    expect_equal(status, 1, f"the exit status for {path}")
    expect(cause in stderr and stderr.count("\n") == 1, f"the error for {path}: {stderr}")
    expect(not os.path.exists(os.path.join(test.directory, "x.json")), "a file was left behind")


def test_bad_files(test):
    check_refused(test, test.write_file("text.gbpf", "text\n"), "not a raw capture")
    check_refused(test, test.write_file("empty.gbpf", ""), "not a raw capture")
    check_refused(test, os.path.join(test.directory, "missing.gbpf"), "No such file")
    check_refused(test, test.write_file("head.gbpf", b"geckobpf"), "not a raw capture")
    newer = b"geckobpf\t\0\0\0"
    newer += zlib.crc32(newer).to_bytes(4, "little")
    check_refused(test, test.write_file("newer.gbpf", newer), "of a version that this geckobpf does not know")
