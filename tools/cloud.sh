#!/bin/sh
# The embedded cloud: tools/cloud.sh up|down|status|env|restart (--help).
set -eu
tools=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
venv=$tools/../.venv
"$tools/setup.sh" >&2
PYTHONPATH=$tools exec "$venv/bin/python" -m cloud "$@"
