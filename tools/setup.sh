#!/bin/sh
# Installs everything this project needs on a bare Debian 12: the packages in
# bindep.txt, and a .venv at the project's root with the project in it.  When
# that is done already, the script ends at once.  PYTHON chooses another
# interpreter.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
venv=$root/.venv
stamp=$venv/.setup-done
# The kernel that the virtual machines of the embedded cloud boot.
kernel=$venv/cache/vmlinuz
# Debian's Python: libvirt-python is built with the headers of python3-dev.
python=${PYTHON:-/usr/bin/python3}
policy=/usr/sbin/policy-rc.d

inputs() {
    cd "$root"
    cat tools/setup.sh bindep.txt upper-constraints.txt setup.cfg \
        requirements.txt test-requirements.txt doc/requirements.txt \
        setup.py rt_monitor/programs/build.sh rt_monitor/programs/*.[ch]
    # The settings of the checks are left out: they install nothing.
    sed '/^\[tool\./,$d' pyproject.toml
}

# Runs a step.  The output of the step is shown only if the step fails.
step() { # text, command...
    text=$1
    shift
    started=$(date +%s)
    echo "setup: $text ..."
    log=$(mktemp)
    trap 'cat "$log" >&2; rm "$log"; $restore' EXIT
    "$@" > "$log" 2>&1
    trap - EXIT
    rm "$log"
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

# The command that undoes what a step changes only while the step runs.
restore=true

allow_daemons() {
    rm -f "$policy"
    [ ! -e "$policy.nova-rt" ] || mv "$policy.nova-rt" "$policy"
}

forbid_daemons() {
    [ ! -e "$policy" ] || mv "$policy" "$policy.nova-rt"
    restore=allow_daemons
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
}

install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    forbid_daemons
    apt-get update -q
    apt-get install -q -y --no-install-recommends "$@"
    allow_daemons
    restore=true
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
    # pbr finds no version in a repository without a commit.
    git rev-parse --quiet --verify HEAD > /dev/null 2>&1 ||
        export PBR_VERSION=0.0.1
    pip=$venv/bin/pip
    # uv installs the same versions several times as fast, but reads none of
    # pip's settings.  Without uv, or if uv fails, pip installs the packages.
    "$pip" install --quiet --disable-pip-version-check uv || true
    index=${PIP_INDEX_URL:-$("$pip" config get global.index-url || true)}
    set -- --quiet --constraint upper-constraints.txt \
        --requirement doc/requirements.txt \
        --requirement test-requirements.txt \
        hacking mypy pre-commit ruff \
        --editable '.[compute,tacker,models,plot,monitor,otlp,tempest,client]'
    VIRTUAL_ENV=$venv UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$index} \
        "$venv/bin/uv" pip install "$@" ||
        "$pip" install --disable-pip-version-check --no-compile "$@"
}

# Compiles with all CPUs; pip would use one.  The tests of other packages are
# left out, because some of their templates cannot be compiled.  kubernetes is
# left out, because it is half of all code and only Tacker imports it.
compile_python() {
    cd "$venv"
    bin/python -m compileall -qq -j 0 -x '/(tests?|kubernetes)/' lib || true
}

# Only the file is taken: the package's hooks would make this machine boot it.
fetch_kernel() {
    scratch=$(mktemp -d)
    download_kernel || {
        apt-get update -q
        download_kernel
    }
    mkdir -p "$venv/cache"
    dpkg-deb --fsys-tarfile "$scratch"/*.deb |
        tar -x -O --wildcards './boot/vmlinuz-*' > "$kernel.part"
    mv "$kernel.part" "$kernel"
    rm -r "$scratch"
}

download_kernel() {
    package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
        sed -n 's/.*Depends: \(linux-image-.*\)/\1/p')
    [ -n "$package" ] || return 1
    (cd "$scratch" &&
        apt-get download -q -o APT::Sandbox::User=root "$package")
}

trap 'exit 1' HUP INT TERM
wanted=$(inputs | sha256sum)
[ "$wanted" != "$(cat "$stamp" 2>/dev/null || true)" ] || exit 0

packages=$(missing_packages | tr '\n' ' ')
# shellcheck disable=SC2086 # One word per package.
[ -z "$packages" ] || step "install ${packages% }" install_packages $packages
"$venv/bin/python" -c '' 2>/dev/null || step 'make .venv' make_venv
# QEMU's images are for this architecture only.
[ "$(dpkg --print-architecture)" != amd64 ] || [ -s "$kernel" ] ||
    step 'fetch a kernel for virtual machines' fetch_kernel
step 'install the Python packages into .venv' install_python
step 'compile them' compile_python
echo "$wanted" > "$stamp"
