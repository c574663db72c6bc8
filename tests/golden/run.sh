#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh [--update] [BUILD_DIR]: replays each NAME.records, with addresses and with names, in each format, and compares the
# profile with NAME.MODE.json (Gecko) or NAME.MODE.FORMAT.json byte for byte; what is made of the raw capture that is kept,
# which does not say who made a process, with NAME.kept_MODE.json. --update rewrites these files instead: look at
# what changed before you commit it.
set -u
update=
if [ "${1:-}" = --update ]; then
	update=1
	shift
fi
build=$(realpath "${1:-build}")
cd "$(dirname "$0")" || exit 1

passed=0 failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# The profile names the architecture of the program that wrote it; the files here are those of x86_64.
name_arch()
{
	local arch

	arch=$(uname -m)
	sed -i "s/\"arch\":\"$arch\"/\"arch\":\"x86_64\"/g; s/\"abi\":\"$arch-gcc3\"/\"abi\":\"x86_64-gcc3\"/" "$1"
}

replay()
{
	local stream=$1 mode=$2 format=$3 out=$4 kallsyms=()

	if [ -e "$stream.kallsyms" ]; then
		kallsyms=("$stream.kallsyms")
	fi
	"$build/tests/golden/replay" "$mode" "$format" "$stream.records" "$out" "${kallsyms[@]}" || return
	case $out in *.json) name_arch "$out" ;; esac
}

# By way of a raw capture. The one that is kept is of version 2 of the format, whose entries have another grammar: old captures must stay readable.
convert()
{
	local stream=$1 mode=$2 format=$3 out=$4 raw

	raw=$work/$stream.gbpf
	case $mode in
	kept_*) raw=$stream.gbpf ;;
	*) replay "$stream" names "$format" "$raw" || return ;;
	esac
	"$build/geckobpf" convert "--format=$format" "--symbols=${mode#*_}" "$raw" -o "$out" 2>"$work/convert.log" &&
		name_arch "$out"
}

show_difference()
{
	diff -u <(python3 -m json.tool "$1") <(python3 -m json.tool "$2") | head -60 | sed 's/^/    /'
}

check()
{
	local stream=$1 mode=$2 format=$3 suffix=.$3 make=replay want got name

	case $format in gecko) suffix= ;; esac
	case $mode in *_*) make=convert ;; esac
	want=$stream.${mode#raw_}$suffix.json
	name=$stream.$mode$suffix
	got=$work/$name.json
	if ! "$make" "$stream" "$mode" "$format" "$got"; then
		echo "not ok golden $name: the replay failed"
		failed=$((failed + 1))
	elif [ -n "$update" ]; then
		cp "$got" "$want"
		echo "ok golden $name (rewritten)"
		passed=$((passed + 1))
	elif cmp -s "$want" "$got"; then
		echo "ok golden $name"
		passed=$((passed + 1))
	else
		echo "not ok golden $name: another profile than $want:"
		show_difference "$want" "$got"
		failed=$((failed + 1))
	fi
}

for file in *.records; do
	for mode in addresses names raw_addresses raw_names kept_addresses kept_names; do
		case $update$mode in 1raw_*) continue ;; esac
		for format in gecko processed; do
			check "${file%.records}" "$mode" "$format"
		done
	done
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
