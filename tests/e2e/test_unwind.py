# SPDX-License-Identifier: BSD-2-Clause
"""Complete stacks of real programs, live: nearly every stack reaches its real end, and has the calls that are known
to be there.

What is made for the purpose is in tests/targets/lang and built here, in whatever way the test is about: without frame
pointers, by other compilers, static, for other runtimes. Where the share of stacks from the right root matters more
than what the log says of them, both are asserted.
"""

import os
import re
import shutil
import subprocess

from harness import PYTHON, REPOSITORY, alone, client_node, expect, expect_equal, schedstat_ns, wait_until
from stacks import describe_truncated, expect_chain, expect_complete, user_chains, user_stacks

BESIDE_OTHERS = True

RATE_HZ = 1000
SECONDS = 0.7  # of CPU time: some 700 samples, of which 300 are asked for
SHARE = 0.99
LIBC_START = ("_start", "__libc_start_main")
CHAIN = ("main", "chain_one", "chain_two", "chain_three", "chain_four", "chain_five", "chain_six")
JIT = "[anonymous code]"
# What `go f(x)` in main() starts: the compiler makes a function that calls f(x), and calls it what it likes.
GO_START = ("runtime.goexit.abi0", re.compile(r"^main\.main\.(func|gowrap)1$"))
# Release builds, and no frame pointers even where a compiler's default has them.
C_FLAGS = ("-std=gnu11", "-O2", "-fomit-frame-pointer", "-ITARGETS", "SOURCE", "-o", "OUTPUT")


def source_path(name):
    return os.path.join(REPOSITORY, "tests", "targets", "lang", name)


def process_cpu_s(pid):
    """User and system time of a process, its children that are gone included, to a tick."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def record_running(test, pid, seconds=SECONDS):
    """For so many seconds of its CPU time."""
    recording = test.record_running("--pid", pid, "--rate", RATE_HZ)
    start_s = process_cpu_s(pid)
    wait_until(lambda: process_cpu_s(pid) > start_s + seconds, f"process {pid} to use {seconds} s of CPU time", 60)
    return recording.stop()


def record_command(test, *command):
    return test.record("--rate", RATE_HZ, "--", *command).finish(patience_s=60)


def check(profile, *chain, share=SHARE, samples=300, **which):
    """Stacks are complete, and those of the threads that are asked for have the chain."""
    expect_complete(profile, samples=samples)
    expect_chain(profile, *chain, least=share, **which)


def build_source(test, source, output, *command, env=None):
    """Builds tests/targets/lang/`source` into the test's own directory by `command`, in which SOURCE, OUTPUT and -ITARGETS
    stand for the paths; returns that of the output."""
    output = os.path.join(test.directory, output)
    words = {"SOURCE": source_path(source), "OUTPUT": output, "-ITARGETS": f"-I{os.path.join(REPOSITORY, 'tests', 'targets')}"}
    test.need(command[0])
    result = subprocess.run([words.get(word, word) for word in command], cwd=test.directory, capture_output=True, text=True,
                            timeout=600, check=False, env=env)
    expect(result.returncode == 0, f"{command[0]} cannot build {source}: {result.stdout} {result.stderr}")
    return output


def build_chain(test, *command, name="chain"):
    return build_source(test, "chain.c", name, *(command or ("gcc", *C_FLAGS)))


# ---- compilers ---------------------------------------------------------------------------------------------------------
def compile_templates(test, compiler):
    test.need(compiler)
    output = os.path.join(test.directory, "templates.o")
    profile = record_command(test, compiler, "-O2", "-c", source_path("templates.cc"), "-o", output)
    expect(os.path.getsize(output) > 10000, f"{compiler} made no object file")
    return profile


@alone
def test_gcc(test):
    profile = compile_templates(test, "g++")
    check(profile, *LIBC_START, "main", re.compile("^toplev::main"), share=0.9, samples=2500, process_name="cc1plus")
    expect_chain(profile, *LIBC_START, "main", "c_parse_file()", re.compile("^_cpp_"), process_name="cc1plus")


@alone
def test_clang(test):
    """One process, whose libraries are 200 MB, from its first instruction on."""
    profile = compile_templates(test, "clang++")
    check(profile, *LIBC_START, "main", re.compile("^clang::driver::Driver::ExecuteCompilation"), share=0.9, samples=2000)
    expect_chain(profile, *LIBC_START, "main", re.compile("^clang::ParseAST"), re.compile("^clang::Sema::"))


# ---- other languages ---------------------------------------------------------------------------------------------------
def test_node(test):
    """The JIT's code is anonymous; node's own code lies below and above it."""
    target = test.start_target(client_node(), source_path("hot.js"))
    profile = record_running(test, target.pid)
    check(profile, *LIBC_START, re.compile(r"^node::Start\("), "Builtins_JSEntry", JIT, name="GeckoMain")


@alone
def test_node_from_start(test):
    script = "for (let i = 0, t = Date.now() + 1500; Date.now() < t; i++) [i].map(x => JSON.stringify({ x }))"
    profile = record_command(test, client_node(), "-e", script)
    check(profile, *LIBC_START, re.compile(r"^node::Start\("), share=0.5, name="GeckoMain")


def test_python(test):
    target = test.start_target(PYTHON, source_path("hot.py"))
    profile = record_running(test, target.pid)
    check(profile, *LIBC_START, "Py_BytesMain", "Py_RunMain", "_PyEval_EvalFrameDefault")


def build_go(test, source, name, *flags):
    test.need("go")
    return build_source(test, source, name, "go", "build", *flags, "-o", "OUTPUT", "SOURCE", env=test.go_environment())


def test_go(test):
    """No .eh_frame, but a table of Go's own; goroutines have stacks of their own, that end in goexit."""
    target = test.start_target(build_go(test, "hot.go", "hot-go"))
    profile = record_running(test, target.pid)
    # The runtime's scheduler has stacks of its own, and a busy machine gives it more to do; not so the program.
    expect_complete(profile)
    expect_chain(profile, *GO_START, "main.work", least=SHARE, having="main.hotOuter")
    expect_chain(profile, *GO_START, "main.work", "main.hotInner", least=0.2)
    expect_chain(profile, *GO_START, "main.work", "main.hotOuter", "sort.Sort", least=0.2)


def check_garbage(test, *flags):
    """What the runtime does on a thread's own stack belongs to the goroutine that has asked for it; or to nobody, as what
    comes after a goroutine was parked, or while its stack is moved."""
    target = test.start_target(build_go(test, "garbage.go", "garbage-go", *flags))
    profile = record_running(test, target.pid, 2)
    expect_complete(profile, least=0.995, samples=1000)
    expect_chain(profile, *GO_START, "main.allocate", "main.makeTree", re.compile(r"^runtime\.mallocgc"),
                 "runtime.systemstack.abi0", least=0.01)
    expect_chain(profile, "runtime.goexit.abi0", "runtime.systemstack.abi0", re.compile("^runtime.gcBgMarkWorker"), least=0.002)
    expect_chain(profile, "runtime.morestack.abi0", "runtime.newstack", "runtime.copystack", least=0.005)
    expect_chain(profile, "runtime.mcall", "runtime.park_m", "runtime.schedule", least=0.002)
    roots = {names[0] for _, names in user_chains(profile) if not names[0].startswith("(truncated")}
    known = {"runtime.goexit.abi0", "runtime.mcall", "runtime.morestack.abi0", "runtime.mstart.abi0", "runtime.clone.abi0"}
    expect(roots <= known, f"complete stacks end in {roots - known}")


def test_go_garbage(test):
    check_garbage(test)


def test_go_garbage_pie(test):
    """Where Go's table is in another section."""
    check_garbage(test, "-buildmode=pie")


def check_calls_c(test, *flags):
    target = test.start_target(build_go(test, "calls_c.go", "calls-c", *flags))
    profile = record_running(test, target.pid)
    expect_complete(profile)
    to_c = ("runtime.goexit.abi0", "main.callC", "runtime.asmcgocall.abi0", re.compile("both"))
    expect_chain(profile, *to_c, "hot_c", least=0.2)
    expect_chain(profile, *to_c, "crosscall2", "runtime.cgocallback.abi0", "main.hotInner", least=0.2)


def test_go_calls_c(test):
    """From stack to stack and back; the C code has .eh_frame."""
    check_calls_c(test)


def test_go_calls_c_pie(test):
    """The system's linker puts Go's table elsewhere and leaves to a relocation where the code is."""
    check_calls_c(test, "-buildmode=pie")


def working_rustc():
    """The user's own, if it works (rustup's does only where it has a toolchain), or Debian's."""
    works = subprocess.run(["sh", "-c", "rustc --version"], capture_output=True, check=False).returncode == 0
    return "rustc" if works else "/usr/bin/rustc"


def test_rust(test):
    """The linker may lay out the file in ways that GNU ld does not."""
    path = build_source(test, "hot.rs", "hot-rust", working_rustc(), "-C", "opt-level=2", "-o", "OUTPUT", "SOURCE")
    target = test.start_target(path)
    profile = record_running(test, target.pid)
    check(profile, *LIBC_START, "main", re.compile("^hot::main"), re.compile("^hot::run"), re.compile("^hot::hot_outer"),
          share=0.9)
    expect_chain(profile, "_start", re.compile("^hot::hot_outer"), re.compile("^hot::hot_inner"), least=0.2)


def test_java(test):
    """HotSpot uses the frame pointer as just another register unless it is told to preserve it."""
    test.need("java", "javac")
    build_source(test, "Hot.java", "Hot.class", "javac", "-d", ".", "SOURCE")
    target = test.start_target("/usr/bin/env", "java", "-XX:+PreserveFramePointer", "-cp", test.directory, "Hot")
    profile = record_running(test, target.pid)
    expect_complete(profile)
    expect_chain(profile, "clone3", "start_thread", "JavaMain", re.compile("^JavaCalls::call_helper"), JIT, JIT, least=SHARE,
                 name="java")


def test_cxx_exceptions(test):
    """Exceptions in flight: libgcc's frames, landing pads, cold parts. (While libgcc overwrites its own frame to jump to a
    handler, its unwind information is wrong: the stacks that are allowed to fail.)"""
    path = build_source(test, "throwing.cc", "throwing", "g++", "-O2", "-ITARGETS", "SOURCE", "-o", "OUTPUT")
    target = test.start_target(path)
    profile = record_running(test, target.pid)
    check(profile, *LIBC_START, "main", re.compile("^catch_all"), share=0.98)
    expect_chain(profile, "_start", "main", re.compile("^catch_all"), re.compile("^Thrower::throw_up"), "__cxa_throw",
                 "_Unwind_RaiseException")


# ---- one program, built and run in many ways -----------------------------------------------------------------------------
def check_chain(test, arguments, root=LIBC_START):
    target = test.start(arguments)
    target.wait_for("ready")
    profile = record_running(test, target.pid)
    check(profile, *root, *CHAIN, share=0.95)
    return profile


def test_no_frame_pointers(test):
    check_chain(test, [build_chain(test)])


def test_no_frame_pointers_clang(test):
    check_chain(test, [build_chain(test, "clang", *C_FLAGS)])


@alone
def test_from_first_instruction(test):
    """Started by us: its mappings are not known when its first samples are taken."""
    profile = record_command(test, build_chain(test), "1")
    check(profile, *LIBC_START, *CHAIN, share=0.95)


def test_static(test):
    check_chain(test, [build_chain(test, "gcc", "-static", *C_FLAGS)])


def test_static_pie(test):
    check_chain(test, [build_chain(test, "gcc", "-static-pie", *C_FLAGS)])


def test_static_musl(test):
    """musl has no unwind information at all, not even for what calls main."""
    check_chain(test, [build_chain(test, "musl-gcc", "-static", *C_FLAGS)], root=("libc_start_main_stage2",))


def test_assembly(test):
    """GMP's own functions have no unwind information and no frame pointers."""
    test.need("factor")
    number = "57896044618658097711785492504343953926634992332820282019728792003956564819949"
    expect_complete(record_running(test, test.start(["factor", number]).pid))


def test_stripped_static(test):
    """Neither names nor unwind information: Debian's busybox, in every second container."""
    test.need("busybox")
    program = 'BEGIN { while (1) { s = s + length(sprintf("%d", i)); gsub(/1/, "2", t) } }'
    expect_complete(record_running(test, test.start(["busybox", "awk", program]).pid))


def test_dynamic_musl(test):
    check_chain(test, [build_chain(test, "musl-gcc", *C_FLAGS)], root=(re.compile(r"^libc\.so\+0x"),))


def test_deleted(test):
    path = build_chain(test)
    target = test.start_target(path)
    os.unlink(path)
    check(record_running(test, target.pid), *LIBC_START, *CHAIN, share=0.95)


def test_memfd(test):
    program = ("import os, sys\n"
               "fd = os.memfd_create('in-memory', 0)\n"
               "os.write(fd, open(sys.argv[1], 'rb').read())\n"
               "os.execve(fd, ['in-memory'], dict(os.environ))\n")
    check_chain(test, [PYTHON, "-c", program, build_chain(test)])


def test_chroot(test):
    """The program and its libraries under paths that mean something else outside."""
    root = test.make_directory("root")
    inside = build_chain(test)
    shutil.copy(inside, f"{root}/jailed")
    for directory in ("lib", "lib64", "usr"):
        os.mkdir(f"{root}/{directory}")
    mounts = " && ".join(f"mount --bind {os.path.realpath('/' + directory)} {root}/{directory}"
                         for directory in ("lib", "lib64", "usr"))
    check_chain(test, ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                       f"{mounts} && exec chroot {root} /jailed"])


def test_deep(test):
    depth = 900
    profile = check_chain(test, [build_chain(test), "0", depth])
    good = sum(samples for samples, names in user_chains(profile) if names.count("step_down") == depth)
    everything = sum(samples for samples, _ in user_chains(profile))
    expect(good >= 0.95 * everything, f"{good} of {everything} stacks have the {depth} calls of step_down")


def test_too_deep(test):
    """A stack that is cut says so, and keeps its leaf. A tenth of the time, or more if caches are cold, it is on its way."""
    target = test.start_target(build_chain(test), 0, 3000)
    profile = record_running(test, target.pid, 2)
    full = user_stacks(profile)["more frames than there is room for"]
    expect(full >= 0.95 * sum(user_stacks(profile).values()) and full > 300, describe_truncated(profile, 2))
    expect_chain(profile, "(truncated: more frames than there is room for)", "step_down", "chain_five", "chain_six", least=0.7)


def test_32_bit(test):
    path = build_source(test, "compat32.c", "compat32", "gcc", "-O2", "-m32", "-nostdlib", "-static", "-fno-pie", "-no-pie",
                        "SOURCE", "-o", "OUTPUT")
    target = test.start_target(path)
    profile = record_running(test, target.pid)
    compat = user_stacks(profile)["32-bit process"]
    expect(compat >= SHARE * sum(user_stacks(profile).values()) and compat > 300, describe_truncated(profile))


# ---- signals, processes, libraries ---------------------------------------------------------------------------------------
def test_alternate_stack(test):
    """From a handler on an alternate stack back to the thread's own."""
    target = test.start_target(build_source(test, "altstack.c", "altstack", "gcc", *C_FLAGS))
    profile = record_running(test, target.pid)
    check(profile, "clone3", "start_thread", "work_on")
    expect_chain(profile, "clone3", "start_thread", "work_on", "interrupted_work", "on_signal", "hot_handler", least=0.5)


def test_anonymous(test):
    """Without unwind information a frame pointer of 0 is not the outermost frame's: whoever called such code is missing."""
    target = test.start_target(build_source(test, "anonymous.c", "anonymous", "gcc", *C_FLAGS))
    profile = record_running(test, target.pid)
    stacks = user_stacks(profile)
    cut = stacks["neither unwind information nor frame pointer"]
    expect(cut >= SHARE * sum(stacks.values()) and cut > 300, describe_truncated(profile))
    expect_chain(profile, "(truncated: neither unwind information nor frame pointer)", re.compile("anonymous"), least=SHARE)


def test_trampolines(test):
    """CPython's -X perf. RBP is of no use there."""
    target = test.start_target(build_source(test, "trampoline.c", "trampoline", "gcc", *C_FLAGS))
    profile = record_running(test, target.pid)
    check(profile, *LIBC_START, "main", JIT, "outer", JIT, "inner", share=0.95)


def check_leaf(test, *flags):
    target = test.start_target(build_source(test, "leaf.c", "leaf", "gcc", *C_FLAGS, *flags))
    profile = record_running(test, target.pid)
    check(profile, *LIBC_START, "main", "grand", "direct_caller", "leaf")


def test_leaf(test):
    """Without unwind information and without a frame: its return address is on top of the stack, and RBP is its caller's."""
    check_leaf(test)


def test_leaf_frame_pointers(test):
    """RBP leads to its caller's caller."""
    check_leaf(test, "-fno-omit-frame-pointer")


def test_vfork(test):
    """Between vfork, or posix_spawn, and exec the child has its parent's memory."""
    target = test.start_target(build_source(test, "spawner.c", "spawner", "gcc", *C_FLAGS))
    profile = record_running(test, target.pid)
    expect_complete(profile)
    expect_chain(profile, *LIBC_START, "main", "call_vfork", "hot_vfork_child", least=0.3)
    expect_chain(profile, "clone3", "__spawni_child", least=0.01)


@alone
def test_fork_storm(test):
    """Processes that live for 10 ms."""
    target = test.start_target(build_source(test, "storm.c", "storm", "gcc", *C_FLAGS))
    profile = record_running(test, target.pid)
    check(profile, *LIBC_START, "main", "run_child", "live_shortly", share=0.8)
    expect(len(profile.pids()) > 50, f"only {len(profile.pids())} processes")


@alone
def test_exec_storm(test):
    """Processes that live for 10 ms, each with an image of its own, so that none's mappings are known before."""
    chain = build_chain(test)
    target = test.start_target(build_source(test, "storm.c", "storm", "gcc", *C_FLAGS), chain, "0.01")
    profile = record_running(test, target.pid)
    check(profile, *LIBC_START, *CHAIN, share=0.7)
    expect(len(profile.find(name="GeckoMain", process_name="chain")) > 30, f"only {len(profile.threads)} threads")


@alone
def test_shell_loop(test):
    """Processes that live for a few milliseconds, from the first one on. (The first instruction of a library's _init is where its
    first page is read in; it has no unwind information.)"""
    test.need("sh", "sed")
    loop = "i=0; while [ $i -lt 150 ]; do sed -n '/x*y*z/p' /etc/passwd >/dev/null; i=$((i+1)); done"
    profile = record_command(test, "sh", "-c", loop)
    expect_complete(profile, samples=100)


def test_dlopen(test):
    """Libraries come and go, and take each other's place."""
    libraries = [build_source(test, "plugin.c", f"{name}.so", "gcc", "-shared", "-fPIC", f"-DNAME={name}_hot",
                              f"-DROOM={room}", *C_FLAGS) for name, room in (("left", 8), ("right", 300))]
    target = test.start_target(build_source(test, "loader.c", "loader", "gcc", *C_FLAGS), *libraries)
    profile = record_running(test, target.pid, 2)
    check(profile, *LIBC_START, "main", "load_and_run", share=0.95)
    for name in ("left_hot", "right_hot"):
        expect_chain(profile, *LIBC_START, "main", "load_and_run", "run_both", name, "called_back", least=0.15)


def test_redis(test):
    test.need("redis-server", "redis-benchmark")
    socket = os.path.join(test.directory, "redis.sock")
    target = test.start(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no"])
    target.wait_for("(?i)ready to accept connections|The server is now ready")
    test.start(["redis-benchmark", "-s", socket, "-t", "set,get", "-n", "100000000", "-P", "32", "-q"])
    start = schedstat_ns(target.pid)
    wait_until(lambda: schedstat_ns(target.pid) > start + 2e8, "redis-server to work")
    profile = record_running(test, target.pid, 1)
    check(profile, *LIBC_START, "main", "aeMain", share=0.95, name="GeckoMain")
    expect_equal(user_stacks(profile)["process not known yet"], 0, "stacks of a process that is not known")
