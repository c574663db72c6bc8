#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check-layers.sh: includes go along the arrows only. Prints one line a room, each offending include, and the sums.
#
#   base <- elf <- target, unwind <- recording (also buffer) <- capture, archive
#                  symbol (also unwind) <- profile <- format <- session <- cmd <- main
#        base <- reader <- service (also elf, target, unwind, symbol) <- capture, session, main
#
# Only commands print; below them what is wrong is a value (base/error.h), and what happens an event (session/event.h). Debug
# messages may come from everywhere. Only capture knows libbpf and the skeletons. Everyone may include the records of include/.
set -u
cd "$(dirname "$0")/.." || exit 1

passed=0 failed=0

# What a room may include besides itself, include/ and the system.
allowed()
{
	case $1 in
	base) echo '' ;;
	elf | buffer | reader) echo 'base' ;;
	service) echo 'base reader elf target unwind symbol' ;;
	target) echo 'base reader elf' ;;
	unwind) echo 'base elf' ;;
	symbol) echo 'base elf target unwind' ;;
	recording) echo 'base elf buffer target' ;;
	capture) echo 'base reader service elf buffer target unwind recording skel' ;;
	archive) echo 'base elf buffer target recording' ;;
	profile) echo 'base elf buffer target recording symbol' ;;
	format) echo 'base elf buffer target recording symbol profile' ;;
	session) echo 'base reader service elf buffer target unwind symbol recording capture archive profile format' ;;
	cmd) echo 'base format session' ;;
	main) echo 'base service cmd session' ;;
	*) return 1 ;;
	esac
}

# The room an included name belongs to: "room", "skel" or "" for what both sides share.
room_of()
{
	case $1 in
	*.skel.h) echo skel ;;
	arch/* | geckobpf_abi.h | geckobpf_frame.h | geckobpf_names.h | geckobpf/*) echo '' ;;
	*/*) echo "${1%%/*}" ;;
	*) echo "$2" ;;
	esac
}

check_include()
{
	local room=$1 file=$2 included=$3 theirs

	theirs=$(room_of "$included" "$room")
	if [ -n "$theirs" ] && [ "$theirs" != "$room" ]; then
		case " $(allowed "$room") " in
		*" $theirs "*) ;;
		*) echo "    $file: $room must not include \"$included\"" ;;
		esac
	fi
}

check_prints()
{
	grep -nE '\<(log_(error|warn|info|more|status|problem)|v?printf|puts|perror)\(|\((stderr|stdout)\>' "$1" |
		grep -vE "^[0-9]+:[[:space:]]*(/?\*|//)" |
		sed "s,^\([0-9]*\):.*,    $1:\1: only commands print,"
}

check_files()
{
	local room=$1 file included

	shift
	for file in "$@"; do
		[ -f "$file" ] || continue
		while IFS= read -r included; do
			check_include "$room" "$file" "$included"
		done < <(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$file")
		if [ "$room" != capture ] && grep -qE '^[[:space:]]*#[[:space:]]*include[[:space:]]*<(bpf/|linux/bpf\.h)' "$file"; then
			echo "    $file: only capture includes libbpf"
		fi
		case $file in
		user/cmd/* | user/main.c | user/base/log.[ch]) ;;
		*) check_prints "$file" ;;
		esac
	done
}

report()
{
	local room=$1 wrong

	if ! allowed "$room" >/dev/null; then
		wrong="    user/$room: no such room in ci/check-layers.sh"
	else
		wrong=$(check_files "$@")
	fi
	if [ -z "$wrong" ]; then
		echo "ok layers of $room"
		passed=$((passed + 1))
	else
		echo "not ok layers of $room:"
		echo "$wrong"
		failed=$((failed + 1))
	fi
}

for directory in user/*/; do
	room=$(basename "$directory")
	report "$room" "$directory"*.[ch]
done
report main user/main.c
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
