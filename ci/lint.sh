#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# lint.sh: layers, sizes, paths (these fail) and formatting (only reported). Looks at the files git knows.
set -u
cd "$(dirname "$0")/.." || exit 1

failed=0

fail()
{
	echo "$1:"
	echo "$2" | sed 's/^/    /'
	failed=$((failed + 1))
}

sources()
{
	git ls-files -- '*.c' '*.h' | grep -v '^vmlinux/' | while IFS= read -r file; do
		if [ -f "$file" ]; then
			echo "$file"
		fi
	done
}

# Functions begin with { and end with } in the first column.
long_functions()
{
	sources | grep '\.c$' | xargs -r awk '
		FNR == 1 { start = 0 }
		/^\{/ { start = FNR; name = before }
		/^\}/ { if (start && FNR - start - 1 > 60)
				printf "%s:%d: %d lines: %s\n", FILENAME, start, FNR - start - 1, name
			start = 0 }
		/^[a-z]/ { before = $0 }'
}

long_files()
{
	sources | xargs -r awk 'FNR == 601 { print FILENAME ": more than 600 lines" }'
}

home_paths()
{
	git grep -n -I -E '/(root|home|work)/[a-z]' -- ':!vmlinux/' ':!ci/lint.sh' || true
}

ci/check-layers.sh || failed=$((failed + 1))
found=$(long_functions)
[ -z "$found" ] || fail 'functions of more than 60 lines' "$found"
found=$(long_files)
[ -z "$found" ] || fail 'files of more than 600 lines' "$found"
found=$(home_paths)
[ -z "$found" ] || fail 'absolute paths of one machine' "$found"
if command -v clang-format >/dev/null; then
	found=$(sources | while IFS= read -r file; do
		clang-format --dry-run -Werror "$file" >/dev/null 2>&1 || echo "$file"
	done)
	[ -z "$found" ] || printf 'not formatted (make format), not a failure:\n%s\n' "$(echo "$found" | sed 's/^/    /')"
fi
[ "$failed" -eq 0 ] || exit 1
echo 'lint: ok'
