#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# demo.sh: what `make demo` does: installs what is missing, builds, starts the demo program, profiles it for three
# seconds into demo.json.gz and prints its hottest functions. Root; under sudo what it makes is its caller's.
set -eu
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
	echo "ci/demo.sh: recording with eBPF needs root; run: sudo make demo" >&2
	exit 1
fi
trap ci/give-back.sh EXIT
ci/deps.sh build
make --no-print-directory -j"$(nproc)" all build/tests/targets/demo

coproc demo { exec build/tests/targets/demo 60; }
# shellcheck disable=SC2154 # coproc sets it
pid=$demo_PID
trap 'kill "$pid" 2>/dev/null || true; ci/give-back.sh' EXIT
if ! read -r -t 10 ready <&"${demo[0]}" || [ "$ready" != "ready $pid" ]; then
	echo "ci/demo.sh: the demo program did not start" >&2
	exit 1
fi

printf '\n$ sudo build/geckobpf --pid %d --duration 3 --top 8 --force -o demo.json.gz\n' "$pid"
build/geckobpf --pid "$pid" --duration 3 --top 8 --force -o demo.json.gz
cat <<END

The profile is in $PWD/demo.json.gz
Open it at https://profiler.firefox.com ("Load a profile from file"): it stays in your browser.
END
