# SPDX-License-Identifier: Apache-2.0

"""operate.doctor.checks.confinement: what root of a container can change."""

import errno
from unittest import mock

from nova_rt.machine.host import files as host_files
from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_NAMESPACE = 'containers.user_namespace'
_CAPABILITIES = 'containers.capabilities'
_NETWORK = 'containers.network'
_INIT = '/proc/71/task/71/'


class ConfinementTest(base.DoctorTest):

    def test_no_container(self):
        found = self.examine(base.F1, base.process(
            80, 'qemu-kvm', '/machine/qemu-1-b.libvirt-qemu/emulator'))
        self.assert_ok(found, _NAMESPACE)
        self.assert_ok(found, _CAPABILITIES)

    def test_root_of_the_host(self):
        found = self.examine(kernels.F1)
        self.assert_warns(found, _NAMESPACE, '1 container',
                          'lxc-7-a.libvirt-lxc', 'uid_maps')
        self.assert_warns(found, _CAPABILITIES, '1 container',
                          'CAP_SYS_NICE', 'drop_capabilities')

    def test_user_namespace(self):
        found = self.examine(kernels.F1, base.MAPPED)
        self.assert_ok(found, _NAMESPACE)
        self.assert_ok(found, _CAPABILITIES)

    def test_capabilities_given_up(self):
        """One of the two capabilities is enough to outrank others."""
        for bound, kept in ((0x1ff7fffff, True), (0x1feffffff, True),
                            (0x1fe7fffff, False)):
            found = self.examine(kernels.F1, {
                _INIT + 'status': f'CapBnd:\t{bound:016x}'})
            self.assert_warns(found, _NAMESPACE)
            if kept:
                self.assert_warns(found, _CAPABILITIES)
            else:
                self.assert_ok(found, _CAPABILITIES)

    def test_network(self):
        """Two files are one namespace if their inode is the same."""
        own = {'/proc/self/ns/net': '', '/proc/71/ns/net': ''}
        self.assert_ok(self.examine(kernels.F1, own), _NETWORK)
        with mock.patch.object(host_files.Host, 'inode', return_value=7):
            found = self.examine(kernels.F1, own)
        self.assert_warns(found, _NETWORK, '1 container', 'loopback')

    def test_ended_meanwhile(self):
        found = self.examine(kernels.F1, refused={
            _INIT + 'uid_map': errno.ESRCH})
        self.assert_ok(found, _NAMESPACE)
        self.assert_ok(found, _CAPABILITIES)

    def test_garbage(self):
        found = self.examine(kernels.F1, {_INIT + 'status': 'CapBnd:\tzz'})
        self.assert_problem(found, _CAPABILITIES, 'could not be completed')
