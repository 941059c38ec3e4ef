# SPDX-License-Identifier: Apache-2.0
#
# The way of a newcomer: a cloud of Debian's packages, then the installation
# guide, and back.  guide-*.sh are the commands of the guide.
# shellcheck source=/dev/null
. ./cloud.sh

# Runs the part $1 of the guide and prints how long its commands took.
follow() {
    local begin=$SECONDS
    echo "== $1"
    # shellcheck source=/dev/null
    . "./guide-$1.sh"
    echo "took $1 $((SECONDS - begin))"
}

inventory() {
    openstack resource provider inventory list -f value -c resource_class \
        "$(openstack resource provider list -f value -c uuid)"
}

# Waits until Placement has reservations of the host (offers), or has none
# (lacks), after a restart of nova-compute.
await_compute() {
    await 8774
    for _ in $(seq 100); do
        inventory > classes || true
        if grep -q VCPU classes; then
            if grep -q CUSTOM_RT_BANDWIDTH classes; then
                [ "$1" != offers ] || return 0
            else
                [ "$1" != lacks ] || return 0
            fi
        fi
        sleep 1
    done
    return 1
}

# Deletes the server $1 and waits until Nova has forgotten the server.  The
# client's own --wait asks in the connection of the DELETE, which uWSGI may end.
delete() {
    openstack server delete "$1"
    for _ in $(seq 60); do
        openstack server list -f value -c Name > servers
        grep -qx "$1" servers || return 0
        sleep 1
    done
    return 1
}

end() {
    virsh --connect qemu:///system list --name | xargs --no-run-if-empty -n 1 \
        virsh --connect qemu:///system destroy
    tail -n 40 /var/log/nova/*.log
}

bring_up > cloud.log 2>&1 || { tail -n 60 cloud.log; exit 1; }
trap end EXIT
echo "took cloud $SECONDS"
follow install
follow check
await_compute offers
follow server
python3 share.py /run/libvirt/qemu/instance-00000001.pid 5
python3 share.py /run/libvirt/qemu/instance-00000001.pid 5
delete rt1
follow remove
await_compute lacks
openstack flavor create plain --vcpus 1 --ram 256
# The client of Debian 13 writes an empty line first.
echo "plain $(openstack server create --flavor plain --image kvm-busy \
    --no-network --wait plain -f value -c status | tail -n 1)"
delete plain
inventory | sed 's/^/has /'
grep -h 'Traceback' /var/log/nova/*.log || true
