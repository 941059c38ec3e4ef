#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs our tests for Tempest on the full cloud, which must be up.
# usage: tools/tempest.sh [arguments of "tempest run"]
set -eu
tools=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
"$tools/setup.sh" >&2
export no_proxy="127.0.0.1,localhost${no_proxy:+,$no_proxy}"
export PATH="$tools/../.venv/bin:$PATH"
PYTHONPATH=$tools exec python "$tools/tempest_run.py" "$@"
