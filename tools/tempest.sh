#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Our tests for Tempest on the full cloud, which is up.
# usage: tools/tempest.sh [what "tempest run" takes]
set -eu
tools=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
"$tools/setup.sh" >&2
export no_proxy="127.0.0.1,localhost${no_proxy:+,$no_proxy}"
export PATH="$tools/../.venv/bin:$PATH"
PYTHONPATH=$tools exec python "$tools/tempest_run.py" "$@"
