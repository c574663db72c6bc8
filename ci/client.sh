#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# client.sh: installs the Firefox Profiler's command-line client, with the node it needs, into build/client, and prints
# the command's path. Does nothing more if it is there. Of several at once, one installs it, and the others wait.
set -eu
cd "$(dirname "$0")/.."

node=node@24
client=@firefox-devtools/profiler-cli@0.10.0
home=$PWD/build/client
command=$home/profiler-cli

mkdir -p build
exec 9>build/client.lock
flock 9
if [ ! -x "$command" ] || [ "$(cat "$home/versions" 2>/dev/null)" != "$node $client" ]; then
	if ! command -v npm >/dev/null; then
		echo "ci/client.sh: no npm command; run: sudo ci/deps.sh test" >&2
		exit 1
	fi
	rm -rf "$home"
	mkdir -p "$home"
	echo '{ "private": true }' >"$home/package.json"
	# A home directory that is not there, or not ours, must not stop npm.
	if ! [ -d "${HOME:-/nonexistent}" ] || ! [ -w "${HOME:-/nonexistent}" ]; then
		export npm_config_cache=$home/cache
	fi
	for try in 1 2 3; do
		if (cd "$home" && npm install --no-audit --no-fund --no-update-notifier --loglevel=error \
			"$node" "$client") >"$home/log" 2>&1; then
			break
		fi
		if [ "$try" = 3 ]; then
			tail -20 "$home/log" >&2
			echo "ci/client.sh: npm could not install $node $client" >&2
			exit 1
		fi
	done
	cat >"$command.tmp" <<-'END'
		#!/bin/sh
		here=$(dirname "$(readlink -f "$0")")
		exec "$here/node_modules/node/bin/node" "$here/node_modules/.bin/profiler-cli" "$@"
	END
	chmod 755 "$command.tmp"
	"$home/node_modules/node/bin/node" --version >>"$home/log"
	mv "$command.tmp" "$command"
	echo "$node $client" >"$home/versions"
fi
echo "$command"
