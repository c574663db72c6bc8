#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# deps.sh GROUP...: installs those Debian packages of these groups (ci/packages.txt) that are missing. Needs root only
# if any is.
set -eu
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
	echo "usage: ci/deps.sh GROUP...   (groups: $(sed 's/#.*//; /^ *$/d; s/ .*//' ci/packages.txt | sort -u | paste -sd' '))" >&2
	exit 2
fi
if ! command -v dpkg-query >/dev/null; then
	echo "ci/deps.sh: this is not Debian: install the equivalents of ci/packages.txt ($*) yourself" >&2
	exit 0
fi

missing=()
for group in "$@"; do
	packages=$(sed 's/#.*//' ci/packages.txt | awk -v group="$group" '$1 == group { print $2 }')
	if [ -z "$packages" ]; then
		echo "ci/deps.sh: no group '$group' in ci/packages.txt" >&2
		exit 2
	fi
	for package in $packages; do
		# Another nodejs than Debian's brings its own npm, and conflicts with Debian's.
		if [ "$package" = npm ] && command -v npm >/dev/null; then
			continue
		fi
		# rustup's rustc is there without working where it has no toolchain for this user.
		if [ "$package" = rustc ] && rustc --version >/dev/null 2>&1; then
			continue
		fi
		status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
		if [ "$status" != installed ]; then
			missing+=("$package")
		fi
	done
done
if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi

if [ "$(id -u)" -ne 0 ]; then
	echo "ci/deps.sh: missing: ${missing[*]}; run this as root, or: sudo apt-get install ${missing[*]}" >&2
	exit 1
fi
echo "ci/deps.sh: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
patient=(-o Acquire::Retries=3 -o DPkg::Lock::Timeout=120)
apt-get -qq "${patient[@]}" update
if ! apt-get -qq -y "${patient[@]}" --no-install-recommends install "${missing[@]}" >"${TMPDIR:-/tmp}/geckobpf-deps.$$" 2>&1; then
	tail -20 "${TMPDIR:-/tmp}/geckobpf-deps.$$" >&2
	rm -f "${TMPDIR:-/tmp}/geckobpf-deps.$$"
	echo "ci/deps.sh: apt-get could not install: ${missing[*]}" >&2
	exit 1
fi
rm -f "${TMPDIR:-/tmp}/geckobpf-deps.$$"
