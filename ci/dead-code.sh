#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# dead-code.sh PROGRAM OBJECT...: names the functions of the objects that the program was linked without. The objects are
# compiled with -O0 -ffunction-sections, the program is linked with --gc-sections: `make dead-code`.
set -u

functions()
{
	nm -o --defined-only "$@" | awk '$(NF - 1) == "T" { print $NF, $1 }' | sort -u
}

program=$1
shift
# NAME OBJECT:ADDRESS -> OBJECT: NAME
dead=$(join -v 1 <(functions "$@") <(functions "$program" | cut -d' ' -f1 | sort -u) |
	sed -E 's|^([^ ]*) (.*/)?(user/.*)\.o:.*|\3.c: \1|' | sort)
if [ -n "$dead" ]; then
	echo 'functions that are in no program:'
	echo "    ${dead//$'\n'/$'\n'    }"
	exit 1
fi
