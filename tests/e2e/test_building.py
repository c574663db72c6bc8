# SPDX-License-Identifier: BSD-2-Clause
"""What is built, by whom, and with what, works or says what it lacks."""

import glob
import os
import re
import shutil

from harness import REPOSITORY, expect, expect_equal

BESIDE_OTHERS = True

WANTED_SAMPLES = 20


def record_hot(test, program, output):
    """Records a known target with this program, half a second long; returns the number of its samples."""
    target = test.start_target("hot")
    run = test.start([program, "--pid", target.pid, "--duration", "0.5", "-o", output])
    status = run.wait()
    expect(status == 0, f"{program} exits {status}: {run.stderr!r}")
    return int(re.search(r": (\d+) samples of ", run.stderr).group(1))


def test_every_clang(test):
    """`make e2e` has built one for each of the group clangs in ci/packages.txt."""
    programs = sorted(glob.glob(os.path.join(test.build, "clang-*", "geckobpf")))
    expect(programs, f"no program of another clang in {test.build}; run: make e2e")
    for program in programs:
        samples = record_hot(test, program, "hot.json")
        expect(samples >= WANTED_SAMPLES, f"{samples} samples by {program}")


def path_without(test, command):
    """A directory with all commands but this one."""
    directory = test.make_directory("bin")
    for other in ("/usr/sbin", "/usr/bin", "/usr/local/bin"):
        for name in os.listdir(other):
            link = os.path.join(directory, name)
            if name != command and not os.path.lexists(link):
                os.symlink(os.path.join(other, name), link)
    return directory


def check_missing(test, what, *arguments, deps="", **environment):
    """A build from nothing does not begin, and the first line says what it lacks."""
    build = os.path.join(test.directory, "build")
    outside_make = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    make = test.start(["make", "-C", REPOSITORY, "--no-print-directory", f"BUILD={build}", *arguments],
                      env={**outside_make, **environment})
    expect_equal(make.wait(), 2, "the exit status of make")
    expect_equal(make.stderr.splitlines()[0], f"geckobpf: cannot be built, missing: {what}; run: sudo make deps{deps}",
                 "what make says first")
    expect_equal(make.stdout, "", "what make has begun with")


def test_missing_tools(test):
    check_missing(test, "clang", "CLANG=clang", PATH=path_without(test, "clang"))
    check_missing(test, "bpftool-7", "BPFTOOL=bpftool-7")
    check_missing(test, "cc-0", "CC=cc-0")
    modules = test.make_directory("modules")
    check_missing(test, "zlib liblzma libzstd jansson libelf libbpf libcap", PKG_CONFIG_LIBDIR=modules)
    check_missing(test, "libiberty/demangle.h uthash.h", "CC=cc -nostdinc")
    check_missing(test, "clang-0", os.path.join(test.directory, "build", "clang-0", "geckobpf"), deps=" DEPS=clangs")


def test_demo_under_sudo(test):
    """It belongs to who called sudo, even if root has built there before."""
    user = 65534
    tree = os.path.join(test.directory, "tree")
    for name in ("bpf", "ci", "include", "tests", "user", "vmlinux"):
        shutil.copytree(os.path.join(REPOSITORY, name), os.path.join(tree, name))
    shutil.copy2(os.path.join(REPOSITORY, "Makefile"), tree)
    for path, _, files in os.walk(tree):
        for name in ("", *files):
            os.lchown(os.path.join(path, name), user, user)
    for name in ("bpf", "skel", "user"):
        shutil.copytree(os.path.join(test.build, name), os.path.join(tree, "build", name))
    for name in ("flags", "libcore.a", "libapp.a", "geckobpf"):
        shutil.copy2(os.path.join(test.build, name), os.path.join(tree, "build"))
    make = test.start(["make", "-C", tree, "demo"], env={**os.environ, "SUDO_UID": str(user), "SUDO_GID": str(user)})
    expect_equal(make.wait(patience_s=300), 0, "the exit status of make demo")
    expect(os.path.exists(os.path.join(tree, "demo.json.gz")), "there is no demo.json.gz")
    of_root = [os.path.join(path, name) for path, _, files in os.walk(tree) for name in ("", *files)
               if os.lstat(os.path.join(path, name)).st_uid != user]
    expect(not of_root, f"{len(of_root)} files belong to root, as {of_root[:3]}")
