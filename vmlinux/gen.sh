#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Writes vmlinux/<arch>/vmlinux.h from the BTF of the running kernel. Run once when a new kernel type is needed, and
# commit the result: a build never takes it from the build host. CO-RE relocates every field we read.
set -eu
case $(uname -m) in
x86_64) arch=x86 ;;
aarch64) arch=arm64 ;;
*) echo "gen.sh: no name for machine $(uname -m)" >&2; exit 1 ;;
esac
dir=$(dirname "$0")/$arch
mkdir -p "$dir"
bpftool btf dump file "${1:-/sys/kernel/btf/vmlinux}" format c > "$dir/vmlinux.h.tmp"
mv "$dir/vmlinux.h.tmp" "$dir/vmlinux.h"
