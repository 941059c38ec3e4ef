#!/bin/sh
# Controls the embedded cloud or the full cloud: tools/cloud.sh
# up|down|status|env|restart|on (--help).
set -eu
tools=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
venv=$tools/../.venv
"$tools/setup.sh" >&2
# pip may need a proxy, but the cloud is on this machine.
export no_proxy="127.0.0.1,localhost${no_proxy:+,$no_proxy}"
# NOVA_RT_SITE is a folder with another build of nova-rt, which then runs.
PYTHONPATH=${NOVA_RT_SITE:+$NOVA_RT_SITE:}$tools exec "$venv/bin/python" -m cloud "$@"
