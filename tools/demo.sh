#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Shows reservations on a real OpenStack, starting from a bare Debian 12: of
# virtual machines, then of containers if the kernel can reserve for them; with
# --full of a VNF package, through Tacker and Heat.
# usage: tools/demo.sh [--guest qemu|kvm|lxc [--interface NAME] | --full]
#                      [--tolerance SHARE] [--report FILE] [--keep]
set -euo pipefail
project=$(cd "$(dirname "$0")/.." && pwd)
started=$(date +%s.%N)
"$project/tools/setup.sh"
export no_proxy="127.0.0.1,localhost${no_proxy:+,$no_proxy}"
PYTHONPATH="$project/tools" DEMO_STARTED=$started \
    exec "$project/.venv/bin/python" -W ignore -m demo "$@"
