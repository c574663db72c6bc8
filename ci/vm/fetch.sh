#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# fetch.sh SUITE PACKAGE VERSION: gets a Debian kernel's image and prints "RELEASE VMLINUZ".
#
# The package comes from the mirror that this machine's apt uses, through an apt of our own in build/vm/apt: nothing of
# the system's is changed, and signatures are checked. Packages stay in $GECKOBPF_CACHE (default build/vm/packages); one
# that is there is not asked for again. If the mirror does not have VERSION, the newest kernel of SUITE is taken.
set -eu
cd "$(dirname "$0")/../.."

if [ $# -ne 3 ]; then
	echo "usage: ci/vm/fetch.sh SUITE PACKAGE VERSION" >&2
	exit 2
fi
suite=$1 package=$2 version=$3
cache=${GECKOBPF_CACHE:-build/vm/packages}
root=$PWD/build/vm/apt/$suite
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
newest=linux-image-cloud-amd64

own_apt()
{
	local command=$1

	shift
	"$command" -qq -o Dir::State="$root/state" -o Dir::State::status=/dev/null -o Dir::Cache="$root/cache" \
		-o Dir::Etc::sourcelist="$root/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o APT::Architecture=amd64 -o APT::Architectures::=amd64 -o APT::Sandbox::User=root \
		-o Acquire::Languages=none -o Acquire::Check-Valid-Until=false -o Acquire::Retries=3 "$@"
}

# The mirror of Debian, or of its security updates, as the system's sources name it.
mirror()
{
	local all main security

	# shellcheck disable=SC2016 # for apt, not for the shell
	all=$(apt-get indextargets --format '$(COMPONENT) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
		awk '$1 == "main" { sub("/$", "", $3); print $2, $3 }')
	security=$(echo "$all" | awk '$1 ~ /-security$/ { print $2; exit }')
	main=$(echo "$all" | awk '$1 !~ /-/ && $2 ~ /debian[^\/]*$/ { print $2; exit }')
	case $suite in
	*-security) echo "${security:-${main%/*}/debian-security}" ;;
	*) echo "$main" ;;
	esac
}

update()
{
	local from

	from=$(mirror)
	if [ -z "${from#/debian-security}" ]; then
		echo "ci/vm/fetch.sh: no Debian mirror in this machine's apt sources" >&2
		return 1
	fi
	mkdir -p "$root/state/lists/partial" "$root/cache/archives/partial"
	echo "deb [arch=amd64 signed-by=$keyring] $from $suite main" >"$root/sources.list"
	own_apt apt-get update >&2
}

# The first package in a package's Depends, in our suite, whose name begins so.
depends_on()
{
	own_apt apt-cache show "$1" | sed -n 's/^Depends: //p' | head -1 | tr ',' '\n' |
		sed -n "s/^ *\($2[^ ]*\).*/\1/p" | head -1
}

use_newest()
{
	local image binary

	image=$(depends_on "$newest" linux-image-)
	if [ -z "$image" ]; then
		echo "ci/vm/fetch.sh: $suite has no $newest" >&2
		return 1
	fi
	binary=$(depends_on "$image" linux-binary-) # from 7.1 on the image is in a package of its own
	package=${binary:-$image}
	version=$(own_apt apt-cache show "$package" | sed -n 's/^Version: //p' | head -1)
}

in_cache()
{
	[ -s "$cache/${package}_${version/:/%3a}_amd64.deb" ]
}

download()
{
	local part

	mkdir -p "$cache"
	part=$(mktemp -d "$cache/part.XXXXXX")
	chmod 755 "$part"
	if (cd "$part" && own_apt apt-get download "$package=$version") >&2; then
		mv "$part"/*.deb "$cache/"
	fi
	rm -rf "$part"
	in_cache
}

if ! in_cache; then
	update
	if ! own_apt apt-cache show "$package=$version" >/dev/null 2>&1; then
		wanted="$package $version"
		use_newest
		echo "ci/vm/fetch.sh: $suite has no $wanted; taking $package $version" >&2
	fi
	in_cache || download
fi
release=${package#linux-image-}
release=${release#linux-binary-}
release=${release%-unsigned}
vmlinuz=build/vm/vmlinuz-$release
mkdir -p build/vm
dpkg-deb --fsys-tarfile "$cache/${package}_${version/:/%3a}_amd64.deb" |
	tar -xO --wildcards '*/vmlinuz*' >"$vmlinuz.tmp"
mv "$vmlinuz.tmp" "$vmlinuz"
echo "$release $vmlinuz"
