#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# vm.sh [SERIES...]: boots the kernels of ci/vm/kernels.txt (all, or those named) in QEMU, one on each CPU at a time, and
# runs ci/vm/init in each. `make vm` builds what it needs first.
#
# No KVM is needed, nor root. Each row must boot the kernel it names and come to its end, and the packages have to be had:
# anything else is a failure. Console output: build/vm/SERIES.log. VM_TIMEOUT: seconds a row may take (180).
# GECKOBPF_CACHE: where kernel packages are kept (build/vm/packages).
set -u
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C.UTF-8

static=build-static
initrd=build/vm/initrd.gz

not_ok()
{
	echo "not ok vm $*"
}

# The machine's file system: busybox, the static binary (and with the BPF object of each clang), what it profiles, tests, and
# init.
make_initrd()
{
	local tree=build/vm/tree test clang

	rm -rf "$tree"
	mkdir -p "$tree"/{bin,clangs,dev,proc,sys,tmp,targets,tests} || return
	cp /bin/busybox "$static/geckobpf" "$tree/bin/" || return
	cp "$static"/tests/targets/{hot,bare,waiter} "$tree/targets/" || return
	cp ci/vm/init "$tree/init" || return
	for clang in "$static"/clang-*; do
		cp "$clang/geckobpf" "$tree/clangs/${clang##*/}" || return
	done
	for test in "$static"/tests/bpf/*; do
		if [ -f "$test" ] && [ -x "$test" ]; then
			cp "$test" "$tree/tests/" || return
		fi
	done
	(cd "$tree" && find . | cpio -o -H newc -R 0:0 --quiet) | gzip -1 >"$initrd.tmp" || return
	mv "$initrd.tmp" "$initrd"
}

# -cpu max panics some kernels under QEMU 7.2. So does a thread for each CPU: it may run an int3 of the kernel's text
# patching that the kernel has taken back ("Oops: int3").
boot()
{
	timeout -k 5 "${VM_TIMEOUT:-180}" qemu-system-x86_64 -accel tcg,thread=single -cpu Nehalem -m 1G -smp 2 -nodefaults \
		-no-user-config -display none -serial stdio -no-reboot -kernel "$1" -initrd "$initrd" \
		-append 'console=ttyS0 loglevel=1 panic=-1 rdinit=/init' </dev/null 2>&1 | tr -d '\r'
	return "${PIPESTATUS[0]}"
}

# What the console says: a line for each test.
tell()
{
	local label=$1 line

	while IFS= read -r line; do
		case $line in
		'ok '*) echo "ok vm $label: ${line#ok }" ;;
		'not ok '*) not_ok "$label: ${line#not ok }" ;;
		'skip '*) echo "skip vm $label: ${line#skip }" ;;
		'#  '*) echo "    ${line#\#  }" ;;
		esac
	done < <(sed -n 's/^@ //p' "$2")
}

# A kernel is what it should be if it says the package's release, and that belongs to the series.
is_of_series()
{
	case $1 in
	newest) [ "$(printf '6.13\n%s\n' "${2%%-*}" | sort -V | tail -1)" != 6.13 ] ;;
	*) [ "${2#"$1".}" != "$2" ] ;;
	esac
}

row()
{
	local series=$1 suite=$2 package=$3 version=$4 release vmlinuz said status log=build/vm/$1.log start=$SECONDS

	if ! read -r release vmlinuz < <(ci/vm/fetch.sh "$suite" "$package" "$version"); then
		not_ok "$series: the kernel package cannot be fetched"
		return
	fi
	boot "$vmlinuz" >"$log"
	status=$?
	tell "$release" "$log"
	said=$(sed -n 's/^@ done //p' "$log")
	if [ -z "$said" ]; then
		not_ok "$release: the machine did not come to its end (status $status after $((SECONDS - start)) s); the end of $log:"
		tail -20 "$log" | sed 's/^/    /'
	elif [ "$said" != "$release" ] || ! is_of_series "$series" "$said"; then
		not_ok "$release: ran on $said, wanted $series"
	else
		echo "ok vm $release: boots as $series ($((SECONDS - start)) s)"
	fi
}

is_wanted()
{
	local series=$1 wanted

	shift
	[ $# -eq 0 ] && return
	for wanted in "$@"; do
		[ "$wanted" = "$series" ] && return
	done
	return 1
}

mkdir -p build/vm
if ! make_initrd; then
	echo "ci/vm.sh: cannot make $initrd; run: sudo ci/deps.sh build vm && make vm" >&2
	exit 1
fi
# Waits until no more than `$1` machines run.
wait_for_machines()
{
	while [ "$(jobs -pr | wc -l)" -gt "$1" ]; do
		wait -n
	done
}

series=()
while read -r name suite package version; do
	case $name in '' | '#'*) continue ;; esac
	if is_wanted "$name" "$@"; then
		wait_for_machines $(($(nproc) - 1))
		row "$name" "$suite" "$package" "$version" </dev/null >"build/vm/$name.results" &
		series+=("$name")
	fi
done <ci/vm/kernels.txt
wait_for_machines 0
results=$(for name in "${series[@]}"; do cat "build/vm/$name.results"; done)
echo "$results"
passed=$(grep -c '^ok ' <<<"$results") failed=$(grep -c '^not ok ' <<<"$results") skipped=$(grep -c '^skip ' <<<"$results")
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
