#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Sources the plugin as stack.sh, unstack.sh and clean.sh do.
# usage: run.sh PLUGIN PHASE...      (a phase: stack/install, unstack ...)

# shellcheck source-path=SCRIPTDIR source=stand_in.sh
source "$(dirname "${BASH_SOURCE[0]}")/stand_in.sh"
# With a DevStack at hand, its own functions on files.
if [[ -n "$DEVSTACK_DIR" ]]; then
    # shellcheck source=/dev/null
    source "$DEVSTACK_DIR/inc/ini-config"
fi
plugin=$1
shift
# shellcheck source=/dev/null
source "$plugin/devstack/settings"

for phase in "$@"; do
    set +o errexit
    [[ "$phase" != stack/* ]] || set -o errexit
    # shellcheck source=/dev/null disable=SC2086
    source "$plugin/devstack/plugin.sh" ${phase/\// }
done
