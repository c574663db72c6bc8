#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tools.sh COMMAND... -- MODULE...: fails, and says in one line what is missing of what a build needs: these commands, the
# libraries that pkg-config knows as these modules, and headers without a module.
#
# CC, PKG_CONFIG: as in the Makefile. STATIC_LIBS: what a static program is linked with, if it is to be static. DEPS: the
# group of packages that has them, if not build.
set -u
missing=()

while [ $# -gt 0 ] && [ "$1" != -- ]; do
	command -v "$1" >/dev/null || missing+=("$1")
	shift
done
shift

# Without these two there is nobody to ask.
if command -v "$PKG_CONFIG" >/dev/null; then
	for module in "$@"; do
		"$PKG_CONFIG" --exists "$module" || missing+=("$module")
	done
fi
if command -v "${CC%% *}" >/dev/null; then
	for header in libiberty/demangle.h uthash.h; do
		$CC -E -x c - <<<"#include <$header>" >/dev/null 2>&1 || missing+=("$header")
	done
fi
if [ ${#missing[@]} -gt 0 ]; then
	echo "geckobpf: cannot be built, missing: ${missing[*]}; run: sudo make deps${DEPS:+ DEPS=$DEPS}" >&2
	exit 1
fi

# The libelf.a of elfutils 0.192 is not whole.
if [ -n "$STATIC_LIBS" ]; then
	program=$(mktemp) || exit
	trap 'rm -f "$program"' EXIT
	# shellcheck disable=SC2086 # words
	if ! said=$($CC -static -x c - -o "$program" -Wl,-u,elf_begin $STATIC_LIBS <<<'int main(void) { return 0; }' 2>&1); then
		echo "geckobpf: cannot be built with STATIC=1: a library of this system is not whole: $(grep -m 1 -oE '(undefined|cannot find) .*' <<<"$said")" >&2
		exit 1
	fi
fi
