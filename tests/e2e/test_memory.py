# SPDX-License-Identifier: BSD-2-Clause
"""Memory: a recording fits into what its cgroup leaves, and says what it gave up for that."""

import os

from harness import Skip, expect, expect_equal, expect_match

BESIDE_OTHERS = True

MIB = 1 << 20
# (mount, limit, usage at most) of the two versions of the memory controller
CONTROLLERS = (("/sys/fs/cgroup", "memory.max", "memory.peak"),
               ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"))


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


class Group:
    """A memory cgroup with a limit, until the test ends."""

    def __init__(self, test, limit_bytes):
        for mount, limit, peak in CONTROLLERS:
            path = os.path.join(mount, f"geckobpf-test-{os.getpid()}")
            try:
                os.mkdir(path)
            except OSError:
                continue
            if os.path.exists(os.path.join(path, limit)):
                break
            os.rmdir(path)
        else:
            raise Skip("no memory cgroup can be made here")
        test.at_end.append(lambda: os.rmdir(path))
        self.path, self.peak_path = path, os.path.join(path, peak)
        with open(os.path.join(path, limit), "w", encoding="ascii") as file:
            file.write(str(limit_bytes))

    def peak_bytes(self):
        return int(read(self.peak_path)) if os.path.exists(self.peak_path) else 0

    def prefix(self):
        return ["sh", "-c", f'echo $$ >{self.path}/cgroup.procs && exec "$0" "$@"']


def test_sizes_that_fit(test):
    """Where the defaults do not fit, they are made smaller; what is asked for and fits stays."""
    target, group = test.start_target("hot"), Group(test, 160 * MIB)
    recording = test.record("--pid", target.pid, "--duration", "0.5", prefix=group.prefix())
    log = recording.finish().log()
    said = recording.stderr.splitlines()[0]
    expect_match(r"^geckobpf: warning: memory: 1[56]\d MiB are left here, and a recording may take \d{3}: "
                 r"--buffer-size is \d+ and --unwind-memory \d+ MiB$", said, "what it says")
    sizes = said.split("--buffer-size is ")[1].split()
    expect(f"--buffer-size {sizes[0]} --unwind-memory {sizes[3]} " in log["options"], f"options: {log['options']}")
    expect(int(sizes[0]) + int(sizes[3]) < 100, f"sizes that do not fit: {said}")
    expect(group.peak_bytes() <= 160 * MIB, f"it took {group.peak_bytes()}")
    small = test.record("--pid", target.pid, "--duration", "0.3", "--buffer-size", 4, "--unwind-memory", 4,
                        prefix=group.prefix())
    small.finish()
    expect("memory:" not in small.stderr, small.stderr)


def test_too_little(test):
    """What cannot be made to fit is said beforehand."""
    target, group = test.start_target("hot"), Group(test, 80 * MIB)
    recording = test.record("--pid", target.pid, "--duration", "0.3", prefix=group.prefix())
    recording.finish()
    expect_match(r"geckobpf: warning: memory: even so it may take \d+ MiB, and be killed; raise the limit of the "
                 r"container or service, or record a raw capture", recording.stderr, "what it says")


def test_peak_is_told(test):
    target = test.start_target("hot")
    recording = test.record("-v", "--pid", target.pid, "--duration", "0.3")
    recording.finish()
    expect_match(r"\ngeckobpf: memory: \d+ MB were resident at most, with what is shared with the kernel\n",
                 recording.stderr, "what it says with -v")
    expect_equal(recording.stdout, "", "stdout")
