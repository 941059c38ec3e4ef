#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The functions of DevStack that the plugin calls: those on files do the same
# to files, those on the system are noted in $RECORD.  test_stand_in.py
# compares them with the real ones.  Values are words, so few are quoted.
#
# shellcheck disable=SC2048,SC2086,SC2154

INI=$(dirname "${BASH_SOURCE[0]}")/ini.py

function note {
    # Without the blanks of words that are empty.
    xargs <<< "$*" >> "$RECORD"
}

function iniset {
    python3 "$INI" set "$@"
}

function iniget {
    python3 "$INI" get "$@"
}

function iniset_multiline {
    python3 "$INI" set_multiline $*
}

function iniget_multiline {
    python3 "$INI" get "$@"
}

function is_service_enabled {
    local service
    for service in "$@"; do
        if [[ ",$ENABLED_SERVICES," == *",$service,"* ]]; then
            return 0
        fi
    done
    return 1
}

function is_ubuntu {
    [[ "$os_PACKAGE" == deb ]]
}

function is_package_installed {
    [[ " $PACKAGES " == *" $1 "* ]]
}

function install_package {
    note install_package "$@"
}

function restart_service {
    note restart_service "$@"
}

function setup_develop {
    note setup_develop "$@"
}

function pip_uninstall {
    note pip_uninstall "$@" "${PIP_VIRTUAL_ENV:+from $PIP_VIRTUAL_ENV}"
}

function run_process {
    # Nothing for a service that is not enabled.
    ! is_service_enabled "$1" || note run_process "$@"
}

function stop_process {
    ! is_service_enabled "$1" || note stop_process "$@"
}

function define_plugin {
    :
}

function echo_summary {
    echo "$*"
}

function warn {
    # One argument, and the status of what came before.
    local status=$?
    echo "[WARNING] here:$1 $2" >&2
    return $status
}

function die {
    echo "ERROR: ${*:2}" >&2
    exit 1
}

# Commands rather than functions of DevStack.

function sudo {
    "$@"
}

function hostname {
    echo compute1
}

function install {
    # The tests need not run as root.
    local owner='-o root -g root '
    [[ "$*" == *"$owner"* ]] && command install ${*/"$owner"/}
}

function virsh {
    note virsh "$@"
    # Of $DOMAINS, which are URI/NAME.
    local domain
    for domain in $DOMAINS; do
        [[ "$*" != "-c ${domain%/*} list "* ]] || echo "${domain##*/}"
    done
}

function sleep {
    note sleep "$@"
}

function timeout {
    "${@:2}"
}

function flavors {
    # With FORGETS, one that takes properties and keeps none.
    [[ "$1" == set && -n "$FORGETS" ]] || "$PYTHON" \
        "$(dirname "$INI")/client.py" "$FLAVORS" "$NOVA_CONF" "$@"
}

function openstack {
    local words
    note openstack "$@" "${OS_USERNAME:+as $OS_USERNAME}"
    case "$*" in
        *' flavor '*) words=$* && flavors ${words#* flavor } ;;
        *'server list'*) [[ "$SERVERS" != - ]] && printf '%s\n' $SERVERS ;;
        *'service list'*) echo "$COMPUTE_STATE" ;;
        *'provider list'*) printf '%s\n' $PROVIDERS ;;
    esac
}
