# SPDX-License-Identifier: BSD-2-Clause
"""workloads.py - what is profiled: sources that keep a compiler busy, and redis under load."""

import os
import shutil
import socket
import subprocess
import time

from profilers import PATIENCE_S, Process

# Keeps the server busy with a few different stacks.
BUSY_LOAD = ("-t", "lrange_100,lrange_300", "-P", "16")
# What redis-benchmark does unless told otherwise: 50 clients, nothing sent before the last answer has come.
DEFAULT_LOAD = ("-t", "get,set")


# ---- compilers -------------------------------------------------------------------------------------------------------
def write_big_source(path):
    """Something for a compiler to do for a second or two."""
    with open(path, "w", encoding="ascii") as file:
        for number in range(300):
            file.write(f"int f{number}(int *a, int n) {{ int s = {number}; for (int i = 0; i < n; i++) {{ "
                       f"if (a[i] % {number + 2} == 0) s += a[i] * {number}; else s ^= a[(i * {number + 3}) % n]; "
                       f"switch (s & 7) {{ case 1: s += i; break; case 3: s -= a[0]; break; case 5: s *= 3; }} }} "
                       f"return s{f' + f{number - 1}(a, n)' if number else ''}; }}\n")


def write_heavy_source(path):
    """Some seconds of work for a C++ compiler, whose stacks are deep."""
    with open(path, "w", encoding="ascii") as file:
        for header in ("algorithm", "functional", "iostream", "map", "regex", "string", "unordered_map", "vector"):
            file.write(f"#include <{header}>\n")
        file.write("""
int main(int argc, char **argv)
{
    std::regex expression("a+(b|c)*d");
    std::wregex wide(L"x");
    std::map<std::string, std::vector<int>> places;
    std::unordered_map<std::string, std::function<int(int)>> adders;
    for (int i = 0; i < argc; i++) {
        if (std::regex_match(argv[i], expression))
            places[argv[i]].push_back(i);
        adders[argv[i]] = [i](int x) { return x + i; };
    }
    for (auto &place : places) {
        std::sort(place.second.begin(), place.second.end());
        std::cout << place.first << adders[place.first](1);
    }
}
""")


def start_compiler_loop(bench):
    """One after the other, for ever."""
    source = os.path.join(bench.directory, "heavy.cc")
    write_heavy_source(source)
    process = Process(["sh", "-c", f"while :; do clang++ -O2 -c {source} -o /dev/null; done"])
    bench.running.append(process)
    return process


# ---- redis -----------------------------------------------------------------------------------------------------------
def unused_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Redis:
    """A server of our own, on a unix socket (or TCP, as redis-benchmark does by default), and its load."""

    def __init__(self, bench, load, tcp=False):
        for program in ("redis-server", "redis-benchmark"):
            if not shutil.which(program):
                raise RuntimeError(f"there is no {program}; run: ci/deps.sh bench")
        if tcp:
            port = str(unused_port())
            where, listen = ["-p", port], ["--port", port, "--bind", "127.0.0.1"]
        else:
            path = os.path.join(bench.directory, "redis.socket")
            where, listen = ["-s", path], ["--port", "0", "--unixsocket", path]
        self.server = Process(["redis-server", *listen, "--save", "", "--dir", bench.directory])
        bench.running.append(self.server)
        self.wait_for_answer(where)
        self.load = Process(["redis-benchmark", *where, "-q", "-l", "-n", "100000", *load])
        bench.running.append(self.load)

    def wait_for_answer(self, where):
        deadline = time.monotonic() + PATIENCE_S
        ask = ["redis-cli", *where, "ping"]
        while subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip() != "PONG":
            if time.monotonic() > deadline or self.server.popen.poll() is not None:
                raise RuntimeError("redis-server does not answer")
            time.sleep(0.05)

    def check(self):
        """Both are still at it."""
        for process in (self.server, self.load):
            if process.popen.poll() is not None:
                raise RuntimeError(f"{process.popen.args[0]} ended with status {process.popen.returncode}")

    def close(self):
        self.load.close()
        self.server.close()
