#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run-unit.sh BINARY...: runs each cmocka program, prints what failed with its output, and last the sums.
#
# A program that runs no test, dies, or fails without naming a test (a sanitizer's report) counts as one failure; exit
# status 77 is a skipped program.
set -u
export CMOCKA_MESSAGE_OUTPUT=TAP
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:abort_on_error=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

passed=0 failed=0 skipped=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

count()
{
	grep -c -E "$1" "$log"
}

run()
{
	local name status ok bad skip

	name=$(basename "$1")
	timeout -k 5 "${UNIT_TIMEOUT:-120}" "$1" >"$log" 2>&1
	status=$?
	if [ "$status" -eq 77 ]; then
		echo "skip $name: $(tail -1 "$log")"
		skipped=$((skipped + 1))
		return
	fi
	# cmocka writes "not ok 3 # SKIP name" for a skipped test, and "# not ok - group" for a group with failures.
	ok=$(count '^ok [0-9]+ - ')
	skip=$(count '^(not )?ok [0-9]+ # SKIP')
	bad=$(count '^not ok [0-9]+ - ')
	if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ $((ok + skip)) -eq 0 ]; }; then
		bad=1
	fi
	if [ "$bad" -gt 0 ]; then
		echo "not ok $name: exit status $status; its output:"
		sed 's/^/    /' "$log"
	else
		echo "ok $name ($ok tests)"
	fi
	sed -n -E "s/^(not )?ok [0-9]+ # SKIP (.*)/skip $name.\2: the test skips itself/p" "$log"
	passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

for binary in "$@"; do
	run "$binary"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
