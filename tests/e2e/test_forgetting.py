# SPDX-License-Identifier: BSD-2-Clause
"""What ended long ago is forgotten: geckobpf does not grow with what comes and goes.

The machine's weeks are a few seconds here, with --forget-after in place of a buffer that overwrites.
"""

import os
import re
import select
import shutil
import time

from harness import PYTHON, expect, expect_between

BESIDE_OTHERS = True

WARM_UP_S = 7  # what ended is forgotten after 2 seconds, its files a second later; then the heap settles
SECONDS = 8

# One process after the other, every one of them of a file that never was before and is gone after. FILE ends in its number, so
# the build id does.
BREED = """
import os, subprocess, sys
image, directory = open(sys.argv[1], "rb").read(), sys.argv[2]
note = image.index(bytes([4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0]) + b"GNU\\0") + 16
print("ready", os.getpid(), flush=True)
for number in range(1 << 30):
    path = os.path.join(directory, f"program{number}")
    with open(path, "wb") as file:
        file.write(image[:note] + number.to_bytes(4, "little") + image[note + 4:])
    os.chmod(path, 0o755)
    subprocess.run([path], stdout=subprocess.DEVNULL)
    os.unlink(path)
    if number % 100 == 99:
        print("ran", number + 1, flush=True)
"""


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return int(re.search(r"VmRSS:\s*(\d+)", file.read()).group(1))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def watch(recording, seconds):
    """The most memory (kB) and descriptors that geckobpf had within that time."""
    end = time.monotonic() + seconds
    resident = opened = 0
    while time.monotonic() < end:
        resident = max(resident, resident_kb(recording.pid))
        opened = max(opened, descriptors(recording.pid))
        select.select([], [], [], 0.05)
    return resident, opened


def programs_run(target):
    while target.read(0) and select.select(list(target.pipes), [], [], 0)[0]:
        pass
    return max((int(number) for number in re.findall(r"ran (\d+)", target.stdout)), default=0)


def test_everything_comes_and_goes(test):
    """New processes, files and threads all the time: memory and descriptors stay what they were, the recording is good."""
    test.need("true")
    breeder = test.start([PYTHON, "-c", BREED, shutil.which("true"), test.make_directory("programs")])
    breeder.wait_for(r"ready \d+\n")
    churn = test.start_target("churn", 60)
    recording = test.record_running("--pid", f"{breeder.pid},{churn.pid}", "--forget-after", 1)
    watch(recording, WARM_UP_S)
    before = programs_run(breeder)
    resident, opened = watch(recording, SECONDS / 4)
    later_resident, later_opened = watch(recording, SECONDS)
    ran = programs_run(breeder) - before
    profile = recording.stop()
    expect(ran >= 200, f"only {ran} programs ran in {SECONDS} s")
    # Each of them, with its buffer, would be more than 10 kB; its file would be a descriptor.
    expect_between(later_resident, 0, resident + 4 * ran, "resident memory, kB")
    expect_between(later_opened, 0, opened + ran / 4, "number of descriptors")
    match = re.search(r"forgotten.*: (\d+) processes, (\d+) threads, (\d+) files", recording.stderr)
    expect(match, f"nothing was forgotten: {recording.stderr!r}")
    processes, threads, files = map(int, match.groups())
    expect(processes > ran and threads > ran and files > ran / 2, match.group())
    # What is left is the last seconds; who was asked for is there.
    expect_between(profile.duration_ms, 0, 1000 * SECONDS, "ms that the profile shows")
    pids = profile.pids()
    expect(str(breeder.pid) in map(str, pids) and str(churn.pid) in map(str, pids), f"processes {sorted(map(str, pids))[:20]}")
    expect(len(pids) < 2 * ran, f"{len(pids)} processes are left of {ran}")
