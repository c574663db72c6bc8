#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check.sh: what `make check` does: installs what is missing, builds, runs every test. Root, Debian 12.
#
# Every stage ends with a line "N passed, N failed, N skipped"; the last line of all is their sum. A stage that fails
# without a failed test, or that runs no test, counts as a failure, and so does a skip that is not in
# ci/allowed-skips.txt.
set -u
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C.UTF-8

passed=0 failed=0 skipped=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"; ci/give-back.sh' EXIT
trap 'exit 130' INT TERM

heading()
{
	printf '\n== %s\n' "$*"
}

finish()
{
	printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	[ "$failed" -eq 0 ]
	exit
}

# Something that has to work for anything else to make sense.
prepare()
{
	local title=$1

	shift
	heading "$title"
	if ! "$@"; then
		echo "not ok $title: '$*' failed"
		failed=$((failed + 1))
		finish
	fi
}

skip_is_allowed()
{
	local line name why

	while IFS= read -r line; do
		case $line in '' | '#'*) continue ;; esac
		name=${line%%:*}
		why=${line#*: }
		case $1 in "skip $name: "*"$why"*) return 0 ;; esac
	done <ci/allowed-skips.txt
	return 1
}

check_skips()
{
	local line

	while IFS= read -r line; do
		if ! skip_is_allowed "$line"; then
			echo "not ok, not in ci/allowed-skips.txt: $line"
			failed=$((failed + 1))
		fi
	done < <(grep '^skip ' "$log")
}

stage()
{
	local title=$1 status counts p f s start=$SECONDS

	shift
	heading "$title"
	"$@" 2>&1 | tee "$log"
	status=${PIPESTATUS[0]}
	counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -1)
	if [ -z "$counts" ]; then
		echo "not ok $title: it ended with status $status and no count"
		failed=$((failed + 1))
		return
	fi
	read -r p f s < <(echo "$counts" | tr -dc '0-9 \n' | tr -s ' ')
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	if [ $((p + f + s)) -eq 0 ]; then
		echo "not ok $title: no test was run"
		failed=$((failed + 1))
	elif [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
		echo "not ok $title: it ended with status $status"
		failed=$((failed + 1))
	fi
	check_skips
	echo "($title: $((SECONDS - start)) s)"
}

if [ "$(id -u)" -ne 0 ]; then
	echo "ci/check.sh: the end-to-end tests record with eBPF, which needs root; run: sudo make check" >&2
	exit 1
fi
export WERROR=1
prepare 'packages' ci/deps.sh build test clangs lint
prepare 'client' ci/client.sh
prepare 'build' make --no-print-directory -j2 all targets
stage 'lint' make --no-print-directory -j2 lint
stage 'unit tests (sanitized)' make --no-print-directory -j2 unit
stage 'threads (TSan)' make --no-print-directory -j2 tsan
stage 'self-unwind (BPF)' make --no-print-directory -j2 selftest
stage 'unwind tables against libdw' make --no-print-directory -j2 oracle
stage 'stacks against the calls that are made' make --no-print-directory -j2 shadow
stage 'golden tests' make --no-print-directory -j2 golden
stage 'end-to-end tests' make --no-print-directory e2e
stage 'kernel matrix' make --no-print-directory vm
stage 'fuzzing' make --no-print-directory -j2 fuzz FUZZ_SECONDS=30
finish
