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

# Waits until nova-compute, restarted, has looked at its host.
await_compute() {
    local attempt
    await 8774
    for attempt in $(seq 300); do
        if tail -n "+$1" /var/log/nova/nova-compute.log |
                grep -q 'Inventory has not changed\|Updating inventory\|Updated inventory\|Final resource view\|CPU reservations:'
        then return; fi
        sleep 1
    done
    return 1
}

# Deletes the server $1 and waits until Nova has forgotten the server.  The
# client's own --wait asks in the connection of the DELETE, which uWSGI may end.
delete() {
    local attempt
    openstack server delete "$1"
    for attempt in $(seq 60); do
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
lines=$(wc -l < /var/log/nova/nova-compute.log)
follow install
follow check
await_compute "$lines"
sleep 3
follow server
python3 share.py /run/libvirt/qemu/instance-00000001.pid 5
python3 share.py /run/libvirt/qemu/instance-00000001.pid 5
delete rt1
lines=$(wc -l < /var/log/nova/nova-compute.log)
follow remove
await_compute "$lines"
openstack flavor create plain --vcpus 1 --ram 256
echo "plain $(openstack server create --flavor plain --image kvm-busy \
    --no-network --wait plain -f value -c status)"
delete plain
openstack resource provider inventory list -f value -c resource_class \
    "$(openstack resource provider list -f value -c uuid)" | sed 's/^/has /'
grep -h 'Traceback' /var/log/nova/*.log || true
