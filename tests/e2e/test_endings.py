# SPDX-License-Identifier: BSD-2-Clause
"""Every way to end a recording saves a profile that loads, and geckobpf's exit status tells how COMMAND ended."""

import os
import re
import signal
import subprocess

from harness import PYTHON, burn, expect, expect_equal, is_alive, kill

BESIDE_OTHERS = True

RUN_S = 0.1  # of CPU time


def check_saved(test, profile, pid=None):
    """The profile is whole, has samples, loads, and nothing else is in its directory."""
    expect_equal(os.listdir(os.path.dirname(profile.path)), [os.path.basename(profile.path)], "the output directory")
    threads = profile.find(pid=pid) if pid else profile.threads
    samples = sum(len(thread.samples()) for thread in threads)
    expect(samples > 5, f"only {samples} samples in {threads}")
    test.client(profile)


def end_by_signal(test, number):
    target = test.start_target("hot")
    recording = test.record_running("--pid", target.pid)
    burn(target.pid, RUN_S)
    recording.signal(number)
    check_saved(test, recording.finish(), target.pid)
    expect(target.popen.poll() is None, "the target did not survive the recording")


def test_pid_interrupt(test):
    end_by_signal(test, signal.SIGINT)


def test_pid_terminate(test):
    end_by_signal(test, signal.SIGTERM)


def test_pid_hangup(test):
    end_by_signal(test, signal.SIGHUP)


def test_pid_duration(test):
    target = test.start_target("hot")
    profile = test.record("--pid", target.pid, "--duration", "0.5").finish()
    check_saved(test, profile, target.pid)
    expect(480 <= profile.duration_ms <= 700, f"the recording took {profile.duration_ms} ms, not 500")
    expect(target.popen.poll() is None, "the target did not survive the recording")


def test_pid_target_exits(test):
    target = test.start_target("hot", 1)
    recording = test.record_running("--pid", target.pid)
    profile = recording.finish()
    check_saved(test, profile, target.pid)
    expect(profile.main_thread(target.pid).unregister_ms, "the exit is not in the profile")
    expect(profile.duration_ms < 3000, f"it went on for {profile.duration_ms} ms")


def test_pid_target_killed(test):
    target = test.start_target("hot")
    recording = test.record_running("--pid", target.pid)
    burn(target.pid, RUN_S)
    target.signal(signal.SIGKILL)
    profile = recording.finish()
    check_saved(test, profile, target.pid)
    expect(profile.main_thread(target.pid).unregister_ms, "the end is not in the profile")


def test_pid_one_of_two_exits(test):
    first, second = test.start_target("hot", 0.5), test.start_target("hot")
    recording = test.record_running("--pid", f"{first.pid},{second.pid}")
    first.wait()
    burn(second.pid, RUN_S)
    expect(recording.popen.poll() is None, "the recording ended although a target is alive")
    profile = recording.stop()
    check_saved(test, profile, second.pid)
    check_saved(test, profile, first.pid)


def test_pid_child_outlives_target(test):
    """The last target counts, and a child that is forked during the recording is one."""
    target = test.start(["sh", "-c", f"echo waiting; read line; {test.target('hot')} 1.5 & echo child $!"],
                        stdin=subprocess.PIPE, new_group=True)
    target.wait_for("waiting\n")
    recording = test.record_running("--pid", target.pid)
    target.write("go\n")
    child = int(target.wait_for(r"child (\d+)\n").group(1))
    profile = recording.finish()
    check_saved(test, profile, child)
    expect(not is_alive(child), "the recording ended before the target's child")


# ---- COMMAND ---------------------------------------------------------------------------------------------------------
def run_command(test):
    """A recording of a command that has run for a while."""
    recording = test.record("--", test.target("hot"), new_group=True)
    recording.wait_started()
    burn(int(recording.wait_for(r"ready (\d+)\n").group(1)), RUN_S)
    return recording


def test_command_status(test):
    spin = f"{test.target('hot')} 0.5"
    check_saved(test, test.record("--", "sh", "-c", f"{spin}; exit 7").finish(7))


def test_command_succeeds(test):
    check_saved(test, test.record("--", test.target("hot"), "0.5").finish(0))


def test_command_kills_itself(test):
    spin = f"{test.target('hot')} 0.5"
    check_saved(test, test.record("--", "sh", "-c", f"{spin}; kill -9 $$").finish(128 + 9))


def test_command_crashes(test):
    spin = f"{test.target('hot')} 0.5"
    check_saved(test, test.record("--", "sh", "-c", f"{spin}; kill -SEGV $$").finish(128 + 11))


def test_command_killed(test):
    recording = run_command(test)
    kill(int(recording.wait_for(r"ready (\d+)").group(1)), signal.SIGKILL)
    check_saved(test, recording.finish(128 + 9))


def end_group_by_signal(test, number):
    """As a terminal does it: the whole foreground group gets the signal."""
    recording = run_command(test)
    os.killpg(recording.pid, number)
    check_saved(test, recording.finish(128 + number))


def test_command_interrupt(test):
    end_group_by_signal(test, signal.SIGINT)


def test_command_hangup(test):
    end_group_by_signal(test, signal.SIGHUP)


def test_command_terminate(test):
    """Only geckobpf is told to end: it saves, whatever it does with COMMAND."""
    recording = run_command(test)
    recording.signal(signal.SIGTERM)
    check_saved(test, recording.finish(None))


def test_command_interrupt_geckobpf_only(test):
    recording = run_command(test)
    recording.signal(signal.SIGINT)
    check_saved(test, recording.finish(None))


def test_command_duration(test):
    recording = test.record("--duration", "0.5", "--", test.target("hot"), "5")
    profile = recording.finish(None)
    check_saved(test, profile)
    expect(480 <= profile.duration_ms <= 900, f"the recording took {profile.duration_ms} ms, not 500")


# ---- COMMAND goes on -------------------------------------------------------------------------------------------------
GOES_ON = r"geckobpf: (\S+) \(pid (\d+)\) goes on, and geckobpf waits for its end; Ctrl-C ends it, " \
          r"a second one leaves it running\n"
WAS_TOLD = r"geckobpf: (\S+) \(pid (\d+)\) was told to end, and geckobpf waits for that; another Ctrl-C leaves it running\n"
IGNORES = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('ready', flush=True)\n" \
          "while True: time.sleep(9)"


def record_short(test, *command, **rest):
    """A recording that is over, of a command that is not, in a process group of their own."""
    recording = test.record("--duration", "0.3", "--", *command, new_group=True, **rest)
    recording.wait_for(GOES_ON, stream="stderr")
    expect("wrote" in recording.stderr, f"it waits before it has saved: {recording.stderr}")
    return recording


def test_command_goes_on(test):
    """It is said that there is something to wait for, and what; its status is the exit status."""
    recording = record_short(test, "sh", "-c", "read line; exit 5", stdin=subprocess.PIPE)
    expect_equal(recording.status, None, "the exit status while the command runs")
    recording.write("go\n")
    check_command(recording, 5)


def check_command(recording, status, is_left=False):
    expect_equal(recording.wait(), status, "the exit status")
    pid = int(re.search(r"pid (\d+)\) (goes on|was told)", recording.stderr).group(1))
    expect_equal(is_alive(pid), is_left, "whether the command is alive")
    expect_equal(f"(pid {pid}) is left running\n" in recording.stderr, is_left, "whether it says so")
    kill(pid, signal.SIGKILL)


def test_command_goes_on_until_interrupt(test):
    """The terminal sends it to both; from elsewhere, geckobpf passes it on."""
    recording = record_short(test, test.target("hot"))
    os.killpg(recording.pid, signal.SIGINT)
    check_command(recording, 128 + signal.SIGINT)
    recording = record_short(test, test.target("hot"))
    recording.signal(signal.SIGTERM)
    check_command(recording, 128 + signal.SIGTERM)


def test_command_goes_on_in_spite_of_interrupt(test):
    """The second Ctrl-C is for geckobpf."""
    recording = record_short(test, PYTHON, "-c", IGNORES)
    os.killpg(recording.pid, signal.SIGINT)
    recording.wait_for(WAS_TOLD, stream="stderr")
    os.killpg(recording.pid, signal.SIGINT)
    check_command(recording, 128 + signal.SIGINT, is_left=True)


def test_interrupted_command_goes_on(test):
    """The first Ctrl-C ended the recording."""
    recording = test.record("--", PYTHON, "-c", IGNORES, new_group=True)
    recording.wait_for("ready\n")
    os.killpg(recording.pid, signal.SIGINT)
    recording.wait_for(WAS_TOLD, stream="stderr")
    expect("wrote" in recording.stderr, f"it waits before it has saved: {recording.stderr}")
    os.killpg(recording.pid, signal.SIGINT)
    check_command(recording, 128 + signal.SIGINT, is_left=True)


def test_command_that_ends_is_not_waited_for(test):
    recording = test.record("--", test.target("hot"), "0.4")
    recording.finish(0)
    expect("waits" not in recording.stderr, recording.stderr)
