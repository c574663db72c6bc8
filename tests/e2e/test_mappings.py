# SPDX-License-Identifier: BSD-2-Clause
"""Programs that map code in ways that are made to cost the recorder much, while it records another: nothing is lost.

The bounds are of CPU time, for that is what a busy machine does not change.
"""

import os
import re
import subprocess

from harness import burn, expect, expect_between, expect_equal, process_cpu_s

MAPS = 200000
RATE = 40000  # a second: what a program can do is more, and then the kernel's ring is full now and then
MANY = 60000
FILES = 5000
BUFFER_MIB = 16
RECORDER_CPU_S = 6  # a fifth would do; it was the square of the number once, and minutes
MEMORY_KB = 160 << 10
PATIENCE_S = 240


def stop_and_check_cost(recording):
    """Returns the profile."""
    cpu_s, peak_kb = process_cpu_s(recording.pid), peak_memory_kb(recording.pid)
    profile = recording.stop()
    expect_between(cpu_s, 0, RECORDER_CPU_S, "the recorder's CPU time in s")
    expect_between(peak_kb, 0, MEMORY_KB, "the recorder's memory in kB")
    return profile


def attack(test, kind, *arguments, buffer_mib=BUFFER_MIB):
    """A profile of a program that does nothing special, beside one that does; and what it cost."""
    other = test.start_target("hot", 600)
    attacker = test.start_target("remapper", kind, *arguments, stdin=subprocess.PIPE)
    recording = test.record_running("--pid", f"{other.pid},{attacker.pid}", "--ring", "--buffer-size", buffer_mib,
                                    "--user-only")
    burn(other.pid, 0.2)
    attacker.write("\n")
    attacker.wait_for("mapped", PATIENCE_S)
    burn(other.pid, 0.2)
    profile = stop_and_check_cost(recording)
    return other, attacker, profile


def peak_memory_kb(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return int(re.search(r"VmHWM:\s*(\d+)", file.read()).group(1))


def expect_all_there(profile, other, attacker):
    """Nothing was lost, of nobody, and nothing overwritten; the other's names are right."""
    log = profile.log()
    for counter in ("samples_lost_ring_full", "samples_lost_buffer", "samples_overwritten", "samples_left_out_at_end"):
        expect_equal(log.get(counter, 0), 0, counter)
    share = profile.main_thread(other.pid).total_share("hot_outer")
    expect_between(share, 0.9, 1, "the share of the other program's samples that has its function's name")
    return log


def test_ever_new_addresses(test):
    other, attacker, profile = attack(test, "anew", MAPS, RATE)
    log = expect_all_there(profile, other, attacker)
    expect(log["mappings_left_out"] > MAPS / 4, f"it does not say what it forgot: {log}")
    expect_match_share(profile, attacker)


def expect_match_share(profile, attacker):
    """What it mapped first, itself, is still known."""
    share = profile.main_thread(attacker.pid).total_share("main")
    expect_between(share, 0.8, 1, "the share of the attacker's own samples whose stack reaches main()")


def test_a_file_at_ever_new_addresses(test):
    other, attacker, profile = attack(test, "file", MAPS, RATE)
    expect_all_there(profile, other, attacker)
    expect_match_share(profile, attacker)


def test_by_turns(test):
    other, attacker, profile = attack(test, "turns", 2 * MAPS, RATE)
    expect_all_there(profile, other, attacker)


def test_the_same_again(test):
    other, attacker, profile = attack(test, "same", MAPS // 4, RATE)
    log = expect_all_there(profile, other, attacker)
    expect_equal(log.get("mappings_left_out", 0), 0, "mappings left out, of one")


def make_files(test):
    directory = test.make_directory("files")
    for number in range(FILES):
        with open(os.path.join(directory, str(number)), "wb") as file:
            file.write(b"x" * 4096)
    return directory


def test_many_files(test):
    other, attacker, profile = attack(test, "files", FILES, RATE, make_files(test))
    expect_all_there(profile, other, attacker)


def test_many_that_forks_share(test):
    other, attacker, profile = attack(test, "many", MANY, RATE)
    expect_all_there(profile, other, attacker)


def test_many_are_kept_where_there_is_room(test):
    other, attacker, profile = attack(test, "many", MANY // 4, RATE, buffer_mib=256)
    log = expect_all_there(profile, other, attacker)
    expect_equal(log.get("mappings_left_out", 0), 0, "mappings left out")
    for process in [profile.raw, *profile.raw["processes"]]:
        expect_between(len(process["libs"]), 0, 300, "the places of files in a process, of which few have samples")


def test_all_at_once(test):
    """Beside all other processes of the machine, which are recorded as well."""
    other = test.start_target("hot", 600)
    kinds = (("anew", MAPS // 10), ("file", MAPS // 10), ("turns", MAPS // 10), ("many", MANY // 4), ("files", FILES))
    attackers = [test.start_target("remapper", kind, count, RATE // len(kinds), *more, stdin=subprocess.PIPE)
                 for (kind, count), more in zip(kinds, [[]] * (len(kinds) - 1) + [[make_files(test)]])]
    recording = test.record_running("--all", "--ring", "--buffer-size", BUFFER_MIB)
    burn(other.pid, 0.2)
    for attacker in attackers:
        attacker.write("\n")
    for attacker in attackers:
        attacker.wait_for("mapped", PATIENCE_S)
    burn(other.pid, 0.2)
    profile = stop_and_check_cost(recording)
    expect_all_there(profile, other, attackers[0])
