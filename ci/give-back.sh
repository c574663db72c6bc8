#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# give-back.sh: what root made in this tree belongs to the user who called sudo, if the tree does.
set -eu
cd "$(dirname "$0")/.."

if [ -n "${SUDO_UID:-}" ] && [ "$(stat -c %u .)" = "$SUDO_UID" ]; then
	chown -hR --from=0 "$SUDO_UID:${SUDO_GID:-}" .
fi
