#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run-fuzz.sh SECONDS BINARY...: runs each fuzzer that long, on from its corpus tests/fuzz/corpus/NAME if there is one.
#
# New inputs are kept in build-fuzz/corpus/NAME, a crashing one in build-fuzz/crash-NAME-*; the corpus in the
# repository is only read.
set -u
cd "$(dirname "$0")/.." || exit 1

if [ $# -lt 2 ]; then
	echo "usage: ci/run-fuzz.sh SECONDS BINARY..." >&2
	exit 2
fi
seconds=$1
shift
passed=0 failed=0
for binary in "$@"; do
	name=$(basename "$binary")
	name=${name#fuzz_}
	corpus=build-fuzz/corpus/$name
	log=build-fuzz/$name.log
	seeds=()
	mkdir -p "$corpus"
	if [ -d "tests/fuzz/corpus/$name" ]; then
		seeds=("tests/fuzz/corpus/$name")
	fi
	if "$binary" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="build-fuzz/crash-$name-" "$corpus" "${seeds[@]}" >"$log" 2>&1; then
		echo "ok fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs"
		passed=$((passed + 1))
	else
		echo "not ok fuzz $name; the end of its output:"
		tail -40 "$log" | sed 's/^/    /'
		failed=$((failed + 1))
	fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
