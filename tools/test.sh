#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Sets everything up, then runs checks and tests.  The last line counts them.
# usage: tools/test.sh [style|types|docs|unit|functional|devstack|cloud|demo|
#                       chain|experiments|hosts|stack|lab|signals|full|
#                       quick ...]
#        tools/test.sh unit MODULE ...
# Without a part: all parts up to chain.  With modules, as rules.test_cpus or
# tests/unit/rules/test_cpus.py, only these run, in seconds.
# "quick" is style, types and unit tests, for use while you write code.
# "chain" is four tests on the full cloud.  "hosts" moves servers between two
# computes.  "lab" boots the kernels of Debian
# in virtual machines, with both versions of cgroups.  "signals" compares the
# monitor with foreign servers of Debian packages, and evaluates the alerts.  "full" is what a change
# cannot wait for, and runs only when asked for: all points of the kill matrix,
# all points of the audits, the long soak, the mutants, Nova's own tests, the
# experiments, more random sets of servers on one pCPU, the whole life cycle
# of containers and of virtual machines by SCHED_DEADLINE, all tests of the
# full cloud, the lab, foreign servers, and the wheel of each role in clean
# environments.
# "stack" is stack.sh of the DevStack in NOVA_RT_DEVSTACK, if that is set.
# Samples change daily; NOVA_RT_DAY=2026-01-31 repeats those of a day.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
parts=(style types docs unit functional devstack cloud demo chain
    experiments hosts stack lab signals full quick)

modules() { # module or file of tests/unit...: their full names
    local module
    for module in "$@"; do
        module=${module%.py}
        module=${module//\//.}
        echo "tests.unit.${module#tests.unit.}"
    done
}

if [[ ${1-} == unit && $# -gt 1 && " ${parts[*]} " != *" $2 "* ]]; then
    tools/setup.sh || exit 1
    mapfile -t names < <(modules "${@:2}")
    PYTHONWARNINGS=ignore exec .venv/bin/python -m testtools.run "${names[@]}"
fi
for part in "$@"; do
    [[ " ${parts[*]} " == *" $part "* ]] || {
        echo "tools/test.sh: there is no part $part: name some of ${parts[*]}" >&2
        exit 2
    }
done
tools/setup.sh || exit 1
export PATH="$PWD/.venv/bin:$PATH" PYTHONWARNINGS=ignore
NOVA_RT_DAY=${NOVA_RT_DAY:-$(date -u +%F)}
export NOVA_RT_DAY

results=$(mktemp -d)
failures=$results/failures
echo "set-up $SECONDS" >"$results/times"
touch "$failures" "$results/counts"
trap 'rm -r "$results"' EXIT

count() { # passed, failed, skipped
    echo "$@" >>"$results/counts"
}

total() { # column
    awk -v column="$1" '{ n += $column } END { print n + 0 }' \
        "$results/counts"
}

check() { # name, command...
    local log
    log=$(mktemp -p "$results")
    echo "== $1"
    if "${@:2}" 2>&1 | tee "$log"; then
        count 1 0 0
    else
        tail -n 15 "$log" >>"$failures"
        echo "FAILED: $1" | tee -a "$failures"
        count 0 1 0
    fi
}

number() { # word, file: from the totals that stestr prints
    awk -v word="$1" '$1 == "-" && index($2, word) == 1 { n = $NF }
                      END { print n + 0 }' "$2"
}

tests() { # part, stestr arguments...
    local log=$results/$1 repository=.stestr.$1
    echo "== $1 tests"
    mkdir -p "$repository"
    # Nova's tests refuse to run where a proxy is configured.
    env -u http_proxy -u https_proxy stestr --repo-url "$repository" \
        --test-path "tests/$1" run \
        --suppress-attachments --slowest "${@:2}" 2>&1 | tee "$log"
    local status=$?
    local bad=$(($(number Failed "$log") + $(number Unexpected "$log")))
    # Finding no test, or failing to import a module, is a failure too.
    [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    count "$(number Passed "$log")" "$bad" "$(number Skipped "$log")"
    [ "$bad" -eq 0 ] || {
        echo "FAILED: $bad of the $1 tests"
        stestr --repo-url "$repository" --test-path "tests/$1" last \
            --subunit | python tools/failures.py
    } >>"$failures"
}

style() {
    check ruff ruff check .
    check flake8 flake8
    check shellcheck shellcheck -x .ci/run tools/*.sh paper/run.sh \
        rt_monitor/programs/build.sh \
        devstack/plugin.sh devstack/settings devstack/lib/nova-rt \
        tests/devstack/*.sh tests/stack/*.sh
    check bashate bashate devstack/plugin.sh devstack/settings \
        devstack/lib/nova-rt tests/devstack/*.sh tests/stack/*.sh
    check 'etc/nova-rt.conf is current' diff etc/nova-rt.conf <(python tools/genconfig.py)
    check 'doc/source/admin/operations.rst is current' diff doc/source/admin/operations.rst <(python tools/matrix.py)
    check 'the table of kernels in README.rst is current' diff README.rst <(python tools/readme.py)
}

types() { check mypy mypy; }

docs() {
    check 'man pages' sphinx-build -q -W -b man doc/source doc/build/man
    check docs sphinx-build -q -W --keep-going -j auto -b html \
        doc/source doc/build/html
    check 'release notes' sphinx-build -q -W -b html releasenotes/source \
        releasenotes/build/html
}

unit() { tests unit; }
functional() { tests functional --worker-file tests/functional/workers.yaml "$@"; }
devstack() { tests devstack; }
experiments() {
    local figure
    check 'fig8, short' paper/run.sh fig8 --short --pair smaller \
        --data "$results/fig8/fig8.csv"
    for figure in table3 fig6 fig7 containers; do
        check "$figure, short" paper/run.sh "$figure" --short \
            --output "$results/$figure"
    done
}
cloud() { tests cloud --serial; }
demo() {
    check 'demo, virtual machines and containers' tools/demo.sh \
        --report report.json
}
chain() {
    # One of two long operations of Tacker a day.
    local days long=(heal change_of_package)
    days=$(($(date -u -d "$NOVA_RT_DAY" +%s) / 86400))
    tests full --serial \
        "test_(both|hints|${long[days % 2]})\$"
}
hosts() {
    NOVA_RT_MOVES=50 tests hosts --serial
    NOVA_RT_PAIR=kvm tests hosts --serial 'test_deadline|test_live_migration'
}
stack() { tests stack --serial; }
lab() {
    local kernel cgroup part
    for kernel in debian:12 debian:12-rt debian:13 debian:13-rt \
        debian:13-backports debian:sid; do
        for cgroup in v1 v2; do
            check "lab, $kernel, cgroup $cgroup" \
                tools/lab.sh "$kernel" --cgroup "$cgroup" doctor
        done
        check "lab, $kernel, pinned virtual machines" \
            tools/lab.sh "$kernel" --kvm --icount --timeout 3600 \
            pinned tcg kvm-plain
        for part in rounds operations; do
            check "lab, $kernel, shares after random changes, $part" \
                tools/lab.sh "$kernel" --icount --instruction 16 \
                --timeout 7200 -- python -W ignore \
                -m tests.full.kernel.transitions "$part"
        done
        check "lab, $kernel, one capacity" tools/lab.sh "$kernel" --cpus 2 \
            -- python -W ignore -m tests.full.kernel.capacity
    done
    check 'lab, waits of interrupts' tools/lab.sh debian:13-rt --cpus 2 \
        --icount -- python -W ignore -m tests.full.kernel.interrupts --seconds 4
    check 'lab, guests of KVM by libvirt' tools/lab.sh debian:13 --kvm kvm
    check 'lab, guests of KVM in a NUMA cell' \
        tools/lab.sh debian:13 --kvm --cpus 4 --cells 2 --pages 64 kvm
    check 'lab, profiles of Anuket with KVM' \
        tools/lab.sh debian:13 --kvm --cpus 6 --cells 2 --pages 96 \
        --memory 5120 --icount --sriov --timeout 5400 profiles
    check 'lab, emulator threads with a limit' \
        tools/lab.sh debian:13 --kvm kvm-emulators
    check 'lab, what KVM costs' \
        tools/lab.sh debian:13 --kvm --icount kvm-costs
    check 'lab, Linux boots in a reserved guest of KVM' \
        tools/lab.sh debian:13 --kvm --icount --instruction 32 kvm-boot
    check 'lab, the demonstration with KVM' tools/lab.sh debian:13 --kvm \
        --cpus 2 --memory 4096 --icount --timeout 5400 demo-kvm
    check 'lab, one server with KVM' tools/lab.sh debian:13 --kvm \
        --cpus 2 --memory 4096 --icount --timeout 4000 server-kvm
    check 'lab, the life cycle of a server with KVM' tools/lab.sh debian:13 \
        --kvm --cpus 2 --memory 4096 --icount --timeout 7200 life-kvm
}
signals() {
    check 'signals of foreign servers' python -m tests.full.signals
    check 'alerts of foreign servers' python -m tests.full.signals.alerts
}
full() {
    NOVA_RT_KILL=1 NOVA_RT_AUDIT=1 NOVA_RT_SOAK=2700 \
        NOVA_RT_SOAK_SERVICES=200 NOVA_RT_SEQUENCES=1000 NOVA_RT_SOAK_NUMA=250 NOVA_RT_LOAD=64 \
        NOVA_RT_QUOTA=200/37 NOVA_RT_BESIDE=1 NOVA_RT_DEFRAG=1 \
        TACKER_RT_FUZZ=50000 TACKER_RT_LIVES=all NOVA_RT_STOCK=1 \
        NOVA_RT_MIXES=1000 NOVA_RT_OPERATIONS=1 functional \
        'test_(kill|audits|defrag|soak|differential|load|quotas|fuzz|wishes|mixes|moves|lifecycle|live_migration|change|masks|beside|admitted|strangers|numa|manage|operator|priorities|neighbours|soft)|functional.test_deadline'
    check "Nova's own tests, with the plugin" python -m tests.full.nova_own
    check 'rt-probe, the truth or "bound"' python -m tests.full.probe
    experiments
    NOVA_RT_SETS=20 NOVA_RT_SETS_QEMU=5 NOVA_RT_STOCK=1 NOVA_RT_LIFE=1 \
        tests cloud --serial \
        'test_company|reserved_deadline|test_lifecycle|test_hostile'
    tests full --serial
    check 'demo, a VNF package' tools/demo.sh --full
    hosts
    stack
    lab
    signals
    check 'two versions read each other' python -m tests.full.versions
    check 'quotas, several processes at once' python -m tests.full.quotas
    check 'the release, in clean environments' \
        tools/release.sh 0.0.1 --dry-run --untested
}

quick() {
    style
    types
    unit
}

run() { # part...
    local part started
    for part in "$@"; do
        started=$SECONDS
        "$part"
        echo "$part $((SECONDS - started))" >>"$results/times"
    done
}

# The demonstration and the chain mostly wait for guests and services, so the
# parts that compute run beside them with a low priority.
all() {
    local computing
    run functional devstack cloud
    (
        renice -n 19 "$BASHPID" >/dev/null
        run style types docs unit
    ) >"$results/computing" 2>&1 &
    computing=$!
    run demo chain
    wait "$computing"
    cat "$results/computing"
}

# A commit that passes all default parts may be released.
whole=
if [ $# -gt 0 ]; then
    run "$@"
else
    rm -f .tested
    [ -n "$(git status --porcelain)" ] || whole=$(git rev-parse HEAD)
    all
fi
# Printed last, because the beginning of a long log is often cut off.
tail -c 8000 "$failures"
echo "NOVA_RT_DAY=$NOVA_RT_DAY; seconds: $(paste -sd, "$results/times")"
echo "$(total 1) passed, $(total 2) failed, $(total 3) skipped"
[ "$(total 2)" -eq 0 ] || exit 1
[ -z "$whole" ] || echo "$whole" >.tested
