# SPDX-License-Identifier: BSD-2-Clause
"""What a profile that is made to be shown to others does not say: convert --redact."""

import os
import re
import signal

from harness import burn, expect, expect_equal, expect_match, read_profile_bytes

BESIDE_OTHERS = True

ARGUMENT, DIRECTORY, HOST, NAME = "a8password", "a9directory", "a7host", "a6capture"
SECRETS = (ARGUMENT, DIRECTORY, HOST, NAME)
KERNEL_FROM = 0xffff800000000000


class Recorded:
    """A raw capture, on a host with a name of its own, of a program in a directory that is nobody's business."""

    def __init__(self, test):
        os.mkdir(os.path.join(test.directory, DIRECTORY))
        program = test.copy_target("hot", os.path.join(DIRECTORY, "hot"))
        target = test.start_target(program, 60, 1, f"--{ARGUMENT}=1")
        prefix = ["unshare", "--uts", "sh", "-c", f'hostname {HOST} && exec "$@"', "sh"]
        recording = test.record_running("--pid", target.pid, "--include-args=9", output=f"{NAME}.gbpf", prefix=prefix)
        burn(target.pid, 0.3)
        with open(f"/proc/{target.pid}/maps", encoding="ascii") as file:
            self.mapped = [tuple(int(number, 16) for number in line.split()[0].split("-")) for line in file]
        recording.signal(signal.SIGINT)
        expect_equal(recording.wait(), 0, f"geckobpf's exit status: {recording.stderr}")
        self.path, self.pid = recording.path, target.pid

    def is_address(self, number):
        return number >= KERNEL_FROM or any(start <= number <= end for start, end in self.mapped)

    def addresses(self, text):
        """Every number of it, decimal or hexadecimal, that is an address of the program or of the kernel."""
        found = [int(number, 16) for number in re.findall("0x([0-9a-f]+)", text)]
        found += [int(number) for number in re.findall("[0-9]{6,20}", text)]
        return sorted({hex(number) for number in found if self.is_address(number)})


def convert(test, path, name, *options, status=0):
    output = os.path.join(test.directory, name)
    process = test.start([test.geckobpf, "convert", *options, "-o", output, path])
    expect_equal(process.wait(), status, f"the exit status of convert: {process.stderr}")
    return output, process.stderr


def secrets_in(recorded, path):
    text = read_profile_bytes(path).decode(errors="replace")
    return [secret for secret in SECRETS if secret in text] + recorded.addresses(text)


OUTPUTS = (("gecko.json", ()), ("processed.json.gz", ("--format=processed",)), ("stacks.folded", ()), ("stacks.pb.gz", ()))


def test_redacted(test):
    """No format has a word or an address of it, with names or without, and it is said how much there was."""
    recorded = Recorded(test)
    whole, _ = convert(test, recorded.path, "whole.json")
    expect(set(secrets_in(recorded, whole)) > {ARGUMENT, DIRECTORY}, "what is to be left out is not there to begin with")
    for name, options in OUTPUTS:
        for symbols in ("names", "addresses"):
            path, said = convert(test, recorded.path, f"{symbols}-{name}", "--redact", f"--symbols={symbols}", *options)
            expect_equal(secrets_in(recorded, path), [], f"what {name} with {symbols} has")
            expect_match(r"left out: 1 command lines' arguments, [1-9]\d* directories of files, [1-9]\d* addresses of "
                         r"programs, [1-9]\d* addresses of the kernel, [1-9]\d* facts of the machine;", said, "what is said")


def test_several_redacted(test):
    """What several recordings are called, and what each says of its machine, is left out as well."""
    recorded = Recorded(test)
    again = test.record("--duration", 0.2, "--", "true", output=f"{NAME}-2.gbpf")
    expect_equal(again.wait(), 0, f"geckobpf's exit status: {again.stderr}")
    for name, options in OUTPUTS:
        path, _ = convert(test, recorded.path, f"two-{name}", "--redact", again.path, *options)
        expect_equal(secrets_in(recorded, path), [], f"what {name} has")


def shown(client, pid):
    """{(function, library): self samples} of the program's thread."""
    functions = client.functions(client.handle(pid))
    return {(function["name"], function.get("library")): function["selfSamples"] for function in functions}


def test_redacted_is_shown(test):
    """The front-end's own client shows the same functions of the same files, in both formats."""
    recorded = Recorded(test)
    expected = shown(test.client(convert(test, recorded.path, "whole.json.gz")[0]), recorded.pid)
    expect(("hot_inner", "hot") in expected, f"the program's functions are {expected}")
    for name in ("gecko", "processed"):
        path, _ = convert(test, recorded.path, f"{name}.json.gz", "--redact", f"--format={name}")
        expect_equal(shown(test.client(path), recorded.pid), expected, f"the functions of the redacted {name} profile")


def test_profile_is_refused(test):
    """Of a profile nobody knows any more what is an argument: that is said, and nothing is written."""
    recorded = Recorded(test)
    whole, _ = convert(test, recorded.path, "whole.json")
    path, said = convert(test, whole, "redacted.folded", "--redact", status=1)
    expect_match(r"not a raw capture, so --redact cannot tell .*; give a \.gbpf file", said, "what is said")
    expect(not os.path.exists(path), "a file was written")
