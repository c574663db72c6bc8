#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# lint.sh [CHECK...]: reads the files git knows, and runs none of them. Prints "ok" or "not ok" and what was found for each
# check (all of them, or those that are asked for), and last the sums. Needs the packages of the groups build and lint.
set -u
cd "$(dirname "$0")/.." || exit 1

passed=0 failed=0

# Of the files that match; those that are deleted here are left out.
files()
{
	git ls-files -- "$@" ':!vmlinux/*.h' | while IFS= read -r file; do
		if [ -f "$file" ]; then
			echo "$file"
		fi
	done
}

formatting()
{
	files '*.c' '*.h' | xargs clang-format --dry-run -Werror 2>&1 |
		sed -n 's/^\([^ :]*\):\([0-9]*\):.*\[-Wclang-format-violations\]$/\1:\2: not formatted (make format)/p' |
		sort -u -t: -k1,1
}

# Functions begin with { and end with } in the first column.
function_sizes()
{
	files '*.c' | xargs awk '
		FNR == 1 { start = 0 }
		/^\{/ { start = FNR; name = before }
		/^\}/ { if (start && FNR - start - 1 > 60)
				printf "%s:%d: %d lines, more than 60: %s\n", FILENAME, start, FNR - start - 1, name
			start = 0 }
		/^[a-z]/ { before = $0 }'
}

file_sizes()
{
	files '*.c' '*.h' | xargs awk 'FNR == 601 { print FILENAME ": more than 600 lines" }'
}

# Paths that only one machine has.
paths()
{
	git grep -n -I -E '/(root|home|work)/[a-z]' -- ':!vmlinux/' ':!ci/lint.sh' || true
}

layers()
{
	ci/check-layers.sh | grep -v '^ok ' | grep -v ' 0 failed, '
}

# Right shifts of signed numbers are defined by the only compilers that know BPF.
c()
{
	cppcheck -q -j"$(nproc)" --std=c11 --language=c --enable=warning,performance,portability \
		--suppress=shiftTooManyBitsSigned --template='{file}:{line}: {message} [{id}]' \
		--include=ci/cppcheck.h -Iuser -Iinclude user 2>&1
}

# What is quoted for others to expand, as awk, is meant so.
shell()
{
	files '*.sh' .ci/run ci/vm/init | xargs shellcheck -f gcc -e SC2016 2>&1
}

python()
{
	files '*.py' | xargs pyflakes3 2>&1
	files '*.py' | xargs pycodestyle --max-line-length=130 --ignore=E203,W503,W504 2>&1
}

dead_code()
{
	local said

	said=$(make --no-print-directory dead-code 2>&1) || grep -v '^  [A-Z]' <<<"$said"
}

missing_command()
{
	local command

	for command in clang-format cppcheck shellcheck pyflakes3 pycodestyle; do
		command -v "$command" >/dev/null || echo "no command $command; run: sudo ci/deps.sh build lint"
	done
}

run()
{
	local found

	found=$("$1")
	if [ -z "$found" ]; then
		echo "ok lint ${1//_/ }"
		passed=$((passed + 1))
	else
		echo "not ok lint ${1//_/ }:"
		echo "    ${found//$'\n'/$'\n'    }"
		failed=$((failed + 1))
	fi
}

[ $# -gt 0 ] || set -- formatting function_sizes file_sizes paths layers c shell python dead_code
run missing_command
for check in "$@"; do
	run "$check"
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
