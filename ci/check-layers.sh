#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# check-layers.sh: includes go one way. Prints one line a room, each offending include, and the sums.
#
#   base <- buffer, target, unwind, symbol <- capture, archive, gecko, export <- session <- cmd <- main
#
# Rooms of one level do not know each other; capture does not know gecko, gecko not libbpf (nor capture), target not
# buffer, and only capture knows libbpf and the skeletons. Everyone may include the records of include/.
set -u
cd "$(dirname "$0")/.." || exit 1

passed=0 failed=0

# What a room may include besides itself, include/ and the system. The session is what lies in user/ itself.
allowed()
{
	case $1 in
	base) echo '' ;;
	buffer | target | unwind | symbol) echo 'base' ;;
	archive) echo 'base buffer target gecko' ;;
	capture) echo 'base buffer target unwind symbol skel' ;;
	gecko) echo 'base buffer target unwind symbol' ;;
	export) echo 'base' ;;
	session) echo 'base buffer target unwind symbol capture archive gecko' ;;
	cmd) echo 'base buffer target unwind symbol capture archive gecko export session' ;;
	main) echo 'base cmd session' ;;
	*) return 1 ;;
	esac
}

# The room an included name belongs to: "room", "skel" or "" for what both sides share.
room_of()
{
	case $1 in
	*.skel.h) echo skel ;;
	geckobpf_abi.h | geckobpf/*) echo '' ;;
	*/*) echo "${1%%/*}" ;;
	*) if [ "$2" = main ] || [ "$2" = cmd ]; then echo session; else echo "$2"; fi ;;
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
top=(user/*.[ch])
report session "${top[@]/user\/main.c/}"
report main user/main.c
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
