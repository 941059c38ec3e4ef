#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Boots a kernel in a virtual machine and runs tests of this project on it:
# tools/lab.sh KERNEL [TESTS...] (--help).
set -eu
tools=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
"$tools/setup.sh" >&2
PYTHONPATH=$tools exec "$tools/../.venv/bin/python" -m lab "$@"
