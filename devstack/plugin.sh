#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# devstack/plugin.sh: nova-rt in the phases of stack.sh, unstack.sh and
# clean.sh.  Each phase sources this file, in stack.sh with errexit on.

_XTRACE_NOVA_RT=$(set +o | grep xtrace)
set +o xtrace

# shellcheck source-path=SCRIPTDIR source=lib/nova-rt
source "$NOVA_RT_DIR/devstack/lib/nova-rt"

case "$1${2:+ $2}" in
    'stack pre-install')
        check_nova_rt
        ;;
    'stack install')
        echo_summary 'Installing nova-rt'
        install_nova_rt
        ;;
    'stack post-config')
        # This phase comes before the services start, and before stack.sh makes
        # nova-cpu.conf from nova.conf: a change of nova-cpu.conf would be
        # lost.
        echo_summary 'Configuring nova-rt'
        configure_nova_rt
        ;;
    'stack extra')
        create_nova_rt_flavors
        start_nova_rt_monitor
        ;;
    'stack test-config')
        verify_nova_rt
        ;;
    unstack)
        unstack_nova_rt
        ;;
    clean)
        cleanup_nova_rt
        ;;
esac

$_XTRACE_NOVA_RT
