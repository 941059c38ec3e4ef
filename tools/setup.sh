#!/bin/sh
# Everything this project needs on a bare Debian 12: packages by bindep.txt
# and a .venv at the project's root with the project installed in it. Does
# nothing, quickly, when that is done. PYTHON chooses another interpreter.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
venv=$root/.venv
stamp=$venv/.setup-done
# Debian's own: libvirt-python is built with the headers of python3-dev.
python=${PYTHON:-/usr/bin/python3}
policy=/usr/sbin/policy-rc.d

inputs() {
    cd "$root"
    cat tools/setup.sh bindep.txt upper-constraints.txt setup.cfg \
        requirements.txt test-requirements.txt doc/requirements.txt
}

step() { # text, command...
    text=$1
    shift
    started=$(date +%s)
    echo "setup: $text ..."
    "$@"
    echo "setup: $text: $(($(date +%s) - started)) s"
}

missing_packages() {
    sed -n 's/^\([a-z0-9][a-z0-9.+-]*\) .*platform:dpkg.*/\1/p' \
        "$root/bindep.txt" |
    while read -r package; do
        # shellcheck disable=SC2016 # dpkg-query expands it.
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" \
            2>/dev/null || true)
        [ "$status" = installed ] || echo "$package"
    done
}

allow_daemons() {
    rm -f "$policy"
    [ ! -e "$policy.nova-rt" ] || mv "$policy.nova-rt" "$policy"
}

forbid_daemons() {
    [ ! -e "$policy" ] || mv "$policy" "$policy.nova-rt"
    trap allow_daemons EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
}

install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    forbid_daemons
    apt-get update -q
    apt-get install -q -y --no-install-recommends "$@"
    allow_daemons
    trap - EXIT HUP INT TERM
}

make_venv() {
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        echo "setup: $python is older than Python 3.11" >&2
        exit 1
    }
    "$python" -m venv "$venv"
}

install_python() {
    cd "$root"
    # Without a commit pbr finds no version.
    git rev-parse --quiet --verify HEAD > /dev/null 2>&1 ||
        export PBR_VERSION=0.0.1
    "$venv/bin/pip" install --quiet --disable-pip-version-check \
        --constraint upper-constraints.txt \
        --requirement doc/requirements.txt \
        hacking mypy ruff --editable '.[nova,cloud,test]'
}

wanted=$(inputs | sha256sum)
[ "$wanted" != "$(cat "$stamp" 2>/dev/null || true)" ] || exit 0

packages=$(missing_packages | tr '\n' ' ')
# shellcheck disable=SC2086 # One word per package.
[ -z "$packages" ] || step "install $packages" install_packages $packages
"$venv/bin/python" -c '' 2>/dev/null || step 'make .venv' make_venv
step 'install the Python packages into .venv' install_python
echo "$wanted" > "$stamp"
