# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.kvm: guests as they are asked for."""

from tests.unit.rt_operate.doctor import base

_DEVICE = {'/dev/kvm': ''}
_MODULE = {'/sys/module/kvm/parameters/halt_poll_ns': '0'}
_AMD = {'/proc/cpuinfo': 'flags\t\t: fpu svm lm'}
_FILE = {'source': 'nova.conf'}


class DeviceTest(base.DoctorTest):

    def look(self, *layers, **options):
        return self.examine(base.MAINLINE, *layers, **options)

    def test_all_is_there(self):
        self.assert_ok(self.look(_DEVICE, _MODULE), 'kvm.device')

    def test_no_device(self):
        found = self.look(**_FILE)
        self.assert_problem(found, 'kvm.device', 'virt_type is kvm',
                            'no /dev/kvm', 'module kvm is not', 'firmware')
        self.assert_problem(self.look(_AMD, **_FILE), 'kvm.device',
                            'modprobe kvm_amd')
        self.assert_problem(self.look(_AMD, _MODULE, **_FILE), 'kvm.device',
                            'the module kvm_amd is not', 'modprobe kvm_amd')
        self.assert_problem(self.look(_MODULE, **_FILE), 'kvm.device',
                            'neither vmx nor svm')

    def test_nobody_asked_for_it(self):
        """Without a nova.conf, virt_type has Nova's default, kvm."""
        self.assert_ok(self.look(), 'kvm.device', 'no /dev/kvm')

    def test_emulation(self):
        self.assertNotIn('kvm.device', self.look(virt_type='qemu'))
        self.assert_warns(self.look(_DEVICE, virt_type='qemu'), 'kvm.device',
                          'Set virt_type to kvm')

    def test_containers(self):
        for layer in ({}, _DEVICE):
            self.assertNotIn('kvm.device', self.look(layer, virt_type='lxc'))
