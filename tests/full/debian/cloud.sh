# SPDX-License-Identifier: Apache-2.0
#
# A cloud of one host, of Debian's packages, as somebody has it who reads the
# installation guide.  Sourced as root in the tree, in a network of its own.

export OS_AUTH_URL=http://127.0.0.1:5000/v3 OS_USERNAME=admin OS_PASSWORD=secret
export OS_PROJECT_NAME=admin OS_USER_DOMAIN_NAME=Default
export OS_PROJECT_DOMAIN_NAME=Default OS_IDENTITY_API_VERSION=3
export OS_REGION_NAME=regionOne

# Waits until somebody listens at the port $1.
await() {
    local attempt
    for attempt in $(seq 600); do
        if (: < "/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return; fi
        sleep 0.2
    done
    echo "nobody listens at port $1"
    return 1
}

# The lines of keystone_authtoken and its like, for the user $1.
credentials() {
    printf '%s\n' 'auth_type = password' 'auth_url = http://127.0.0.1:5000' \
        "username = $1" 'password = secret' 'project_name = service' \
        'user_domain_name = Default' 'project_domain_name = Default' \
        'region_name = regionOne'
}

database() {
    mariadb -e "CREATE DATABASE $1; GRANT ALL ON $1.* TO '$2'@'%'
        IDENTIFIED BY 'secret'"
}

# $1 is the name of a service, $2 its type and $3 its address.
register() {
    # The client ends with 1 when it has read all commands.
    openstack <<END || [ $? = 1 ]
user create $1 --domain Default --project service --password secret
role add --user $1 --project service admin
role add --user $1 --project service service
service create --name $1 $2
endpoint create --region regionOne $2 public $3
endpoint create --region regionOne $2 internal $3
END
}

# As a child of systemd finds the machine.
prepare() {
    systemd-tmpfiles --create >/dev/null 2>&1 || true
    mkdir -p /run/mysqld /run/lock /etc/mysql
    chown mysql: /run/mysqld
    # One worker each, instead of sixteen.
    sed -i 's/^processes = .*/processes = 1/' /etc/*/*-uwsgi.ini
    # systemd would start it again when somebody connects.
    echo LIBVIRTD_ARGS= > /etc/default/libvirtd
    # systemd's socket would check who connects by polkit.
    printf '%s\n' 'unix_sock_group = "libvirt"' 'unix_sock_rw_perms = "0770"' \
        'auth_unix_rw = "none"' 'auth_unix_ro = "none"' >> /etc/libvirt/libvirtd.conf
    # The devices of the tree are those of the machine, in another place.
    echo 'namespaces = []' >> /etc/libvirt/qemu.conf
    hostname > /etc/hostname
    printf '127.0.0.1 localhost %s\n' "$(hostname)" > /etc/hosts
}

keystone() {
    database keystone keystone
    cat >> /etc/keystone/keystone.conf <<'END'
[database]
connection = mysql+pymysql://keystone:secret@127.0.0.1/keystone
END
    runuser -u keystone -- keystone-manage db_sync
    keystone-manage fernet_setup --keystone-user keystone --keystone-group keystone
    keystone-manage credential_setup --keystone-user keystone --keystone-group keystone
    keystone-manage bootstrap --bootstrap-password secret \
        --bootstrap-public-url http://127.0.0.1:5000/v3 \
        --bootstrap-internal-url http://127.0.0.1:5000/v3 \
        --bootstrap-region-id regionOne
    systemctl start keystone
    await 5000
    openstack project create service --domain Default
}

# $1 is a service, $2 the section of its database, $3 its file and $4 its type.
service() {
    database "$1" "$1"
    cat >> "$3" <<END

[$2]
connection = mysql+pymysql://$1:secret@127.0.0.1/$1
[keystone_authtoken]
$(credentials "$1")
END
    register "$1" "$4" "$5"
}

glance() {
    service glance database /etc/glance/glance-api.conf image http://127.0.0.1:9292
    cat >> /etc/glance/glance-api.conf <<'END'
[paste_deploy]
flavor = keystone
END
    runuser -u glance -- glance-manage db_sync
    systemctl start glance-api
}

placement() {
    service placement placement_database /etc/placement/placement.conf placement \
        http://127.0.0.1:8778
    runuser -u placement -- placement-manage db sync
    systemctl start placement-api
}

neutron() {
    service neutron database /etc/neutron/neutron.conf network http://127.0.0.1:9696
    cat >> /etc/neutron/neutron.conf <<END
[DEFAULT]
transport_url = rabbit://guest:guest@127.0.0.1
service_plugins = router
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
END
    cat >> /etc/neutron/plugins/ml2/ml2_conf.ini <<'END'
[ml2]
type_drivers = local
tenant_network_types = local
mechanism_drivers =
END
    runuser -u neutron -- neutron-db-manage --config-file /etc/neutron/neutron.conf \
        --config-file /etc/neutron/plugins/ml2/ml2_conf.ini upgrade head
    systemctl start neutron-api
    await 9696
    # Before the first query, this Neutron cannot list ports.
    openstack network create private
}

nova() {
    database nova_api nova
    database nova_cell0 nova
    service nova database /etc/nova/nova.conf compute http://127.0.0.1:8774/v2.1
    local where='nova:secret@127.0.0.1/nova_api'
    cat >> /etc/nova/nova.conf <<END
[DEFAULT]
my_ip = 127.0.0.1
transport_url = rabbit://guest:guest@127.0.0.1
# QEMU shows the screens of servers by packages that the tree lacks.
[vnc]
enabled = false
# Where a hypervisor lacks a feature of its CPU, KVM refuses the CPU of the host.
[libvirt]
cpu_mode = none
[spice]
enabled = false
[api_database]
connection = mysql+pymysql://$where
[service_user]
send_service_user_token = true
$(credentials nova)
[placement]
$(credentials nova)
[neutron]
$(credentials nova)
END
    runuser -u nova -- nova-manage api_db sync
    runuser -u nova -- nova-manage cell_v2 map_cell0
    runuser -u nova -- nova-manage cell_v2 create_cell --name cell1
    runuser -u nova -- nova-manage db sync
    systemctl start nova-conductor nova-scheduler nova-api nova-compute
}

# Waits until nova-compute is up in Nova and in Placement.
discover() {
    for attempt in $(seq 120); do
        if runuser -u nova -- nova-manage cell_v2 discover_hosts --verbose |
                grep -q 'Found 1 unmapped'; then return; fi
        sleep 2
    done
    return 1
}

images() {
    truncate --size 1M disk.raw
    openstack image create kvm-kernel --public --disk-format aki \
        --container-format aki --file kvm_guest
    openstack image create kvm-busy --public --disk-format ami \
        --container-format ami --file disk.raw --property "os_command_line=guest=busy" \
        --property "kernel_id=$(openstack image show kvm-kernel -f value -c id)"
}

bring_up() {
    prepare
    systemctl start mariadb rabbitmq-server virtlogd libvirtd
    await 3306
    keystone
    glance
    placement
    await 5672
    neutron
    nova
    await 9292
    images
    discover
}
