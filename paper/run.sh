#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs an experiment of the paper: sets everything up, measures, plots and
# makes tables.
# usage: paper/run.sh PAPER FIGURE [--data], paper/run.sh figures, or
#        paper/run.sh table3|fig6|fig7|fig8|fig8-sip|containers|chance|probe|
#        pinning|interference|chain|placing [--short]
#        (--help)
# This needs root for SCHED_DEADLINE, network namespaces and control groups.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
project=$here/..
"$project/tools/setup.sh" >&2
case "${*:-}" in
    *--data | figures) profile= ;;
    fig8-sip* | '004 kamailio'*) profile=sip ;;
    pinning* | '001 '*) profile=pinning ;;
    interference* | '002 '*) profile=interference ;;
    *) profile= ;;
esac
if [ "$profile" ]; then
    packages=$(sed -n "s/^\([a-z0-9-]*\) \[$profile\]\$/\1/p" \
        "$project/bindep.txt")
    # shellcheck disable=SC2086 # One word per package, twice.
    dpkg-query -W $packages > /dev/null 2>&1 ||
        # RUNLEVEL=1: daemons are installed, but not started.
        RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
            --no-install-recommends $packages >&2
fi
PYTHONPATH=$project exec "$project/.venv/bin/python" -W ignore -m paper "$@"
