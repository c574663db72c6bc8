#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run-fuzz.sh SECONDS BINARY...: runs each fuzzer that long, one on each CPU at a time, on from its corpus tests/fuzz/corpus/NAME if there is one.
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

# One fuzzer; says "ok fuzz NAME" or "not ok fuzz NAME".
fuzz()
{
	local binary=$1 name corpus log seeds=()

	name=$(basename "$binary")
	name=${name#fuzz_}
	corpus=build-fuzz/corpus/$name
	log=build-fuzz/$name.log
	mkdir -p "$corpus"
	if [ -d "tests/fuzz/corpus/$name" ]; then
		seeds=("tests/fuzz/corpus/$name")
	fi
	if "$binary" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
		-artifact_prefix="build-fuzz/crash-$name-" "$corpus" "${seeds[@]}" >"$log" 2>&1; then
		echo "ok fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs"
	else
		echo "not ok fuzz $name; the end of its output:"
		tail -40 "$log" | sed 's/^/    /'
	fi
}

export -f fuzz
export seconds
results=$(printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c 'fuzz {}')
echo "$results"
passed=$(grep -c '^ok fuzz' <<<"$results") failed=$(grep -c '^not ok fuzz' <<<"$results")
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ] && [ "$passed" -eq $# ]
