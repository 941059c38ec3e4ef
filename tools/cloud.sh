#!/bin/sh
# The embedded cloud, or the full one: tools/cloud.sh
# up|down|status|env|restart|on (--help).
set -eu
tools=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
venv=$tools/../.venv
"$tools/setup.sh" >&2
# Whatever proxy pip may need, the cloud is on this machine.
export no_proxy="127.0.0.1,localhost${no_proxy:+,$no_proxy}"
PYTHONPATH=$tools exec "$venv/bin/python" -m cloud "$@"
