# SPDX-License-Identifier: Apache-2.0

"""Tests which enforcer a host gets."""

from unittest import mock

from nova_rt.machine.kernel import detect
from nova_rt.rules import cpulist
from nova_rt.rules import exception
from nova_rt.services.virt.libvirt import deadline
from nova_rt.services.virt.libvirt import selection
from tests.unit import base
from tests.unit.services.virt.libvirt import fakes


class Files:
    """The cgroup files of a host without budgets for groups."""

    def mounts(self):
        return [('/sys/fs/cgroup/cpu', 'cgroup', 'rw,cpu')]

    def read(self, path):
        return {cpulist.ONLINE: '0-1', cpulist.ISOLATED: ''}[path]


class SelectTest(base.TestCase):

    def select(self, virt_type, name='sched_deadline', pins=True):
        self.config(kernel_interface=name)
        self.config(group='libvirt', virt_type=virt_type)
        with (mock.patch.object(deadline, 'can_pin', side_effect=pins),
              mock.patch.object(detect, 'detect', return_value=None)):
            return selection.select(Files(), lambda: {0, 1}, None, None)

    def test_selected(self):
        selected = self.select('kvm', pins=[True])
        self.assertIsInstance(selected, deadline.DeadlineEnforcer)
        self.assertEqual({0, 1}, selected._shared())
        self.assertTrue(selected.pins)
        self.assertTrue(selection.moves_emulators(selected))

    def test_nothing_else_is_there(self):
        self.assertTrue(self.select('qemu', None, [True]).pins)
        self.assertIsNone(self.select('lxc', None))
        self.assertFalse(selection.moves_emulators(None))

    def test_cannot_pin(self):
        for answer in ([False], fakes.refusal()):
            selected = self.select('kvm', pins=answer)
            self.assertFalse(selected.pins)
            self.assertEqual(frozenset(), selected.traits)

    def test_selected_for_containers(self):
        error = self.assertRaises(exception.KernelError,
                                  self.select('lxc').capacity)
        self.assertIn('a container needs', str(error))

    def test_never_detected(self):
        self.assertNotIn('sched_deadline', detect.installed())
