#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# shadow.sh BUILD [NAME...]: single-steps programs, and compares their stacks with the calls that they make: shadow_oracle.c.
# Each is code without unwind information: assembly, musl, a stripped static program. NAME: those rows alone.
set -u
build=$1
shift
directory=$(mktemp -d) || exit 1
trap 'rm -rf "$directory"' EXIT
passed=0 failed=0 skipped=0

# row NAME OPTION... -- COMMAND...
row()
{
	local name=$1 status

	shift
	if [ ${#wanted[@]} -gt 0 ] && [[ " ${wanted[*]} " != *" $name "* ]]; then
		return
	fi
	timeout 120 "$build/tests/oracle/shadow_oracle" "$@" >"$directory/log" 2>&1
	status=$?
	case $status in
	0)
		echo "ok shadow $name: $(tail -n +1 "$directory/log" | grep -m 1 ' compared')"
		passed=$((passed + 1))
		;;
	77)
		echo "skip shadow $name: $(tail -1 "$directory/log")"
		skipped=$((skipped + 1))
		;;
	*)
		echo "not ok shadow $name: exit status $status"
		sed 's/^/    /' "$directory/log"
		failed=$((failed + 1))
		;;
	esac
}

# A program with all its libraries in musl, and nothing to say of its frames.
build_musl()
{
	cat >"$directory/musl.c" <<-'END'
		#include <math.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		static int by_text(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }
		int main(void)
		{
			char *texts[200], block[4096];
			for (int i = 0; i < 200; i++) {
				texts[i] = malloc(40);
				snprintf(texts[i], 40, "%d-%f", rand(), sin(i));
				memset(block, i, sizeof(block));
				memcpy(block, block + 2048, 2048);
			}
			qsort(texts, 200, sizeof(*texts), by_text);
			return strtod(texts[0], NULL) == block[1];
		}
	END
	command -v musl-gcc >/dev/null && musl-gcc -O2 -static -s -o "$directory/musl" "$directory/musl.c" -lm
}

wanted=("$@")
for i in $(seq 400); do
	echo "$((i * 7919 % 1000)) word $i line"
done >"$directory/text"
build_musl
big=340282366920938463463374607431768211457

# shellcheck disable=SC2016 # the programs of awk and sh
row awk --steps 100000 --least 98 -- busybox awk '{ n += $1; s = s $2; gsub(/o/, "0") } END { print n, s }' "$directory/text"
row sort --steps 100000 --least 98 -- busybox sort "$directory/text"
row gzip --steps 100000 --least 98 -- busybox gzip -c "$directory/text"
row sha256sum --steps 60000 --least 98 -- busybox sha256sum "$directory/text"
# shellcheck disable=SC2016
row sh --steps 100000 --least 98 -- busybox sh -c 'for i in 1 2 3 4 5 6 7 8 9; do x="$x $i"; echo "$x"; done'
row musl --steps 200000 --least 98 -- "$directory/musl"
row gmp --steps 150000 --least 98 --at __gmpz_powm -- factor "$big"
row gmp-powers --steps 100000 --least 98 --at __gmpz_mul -- factor "$big"
row openssl --steps 100000 --least 98 --at EVP_DigestUpdate -- openssl dgst -sha512 "$directory/text"
row aes --steps 100000 --least 98 --at EVP_CipherUpdate -- openssl enc -aes-256-ctr -K 00 -iv 00 -in "$directory/text"
row nettle --steps 100000 --least 98 -- nettle-hash -a sha256 "$directory/text"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
