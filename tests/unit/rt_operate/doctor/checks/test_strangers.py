# SPDX-License-Identifier: Apache-2.0

"""operate.doctor.checks.strangers: guests that Nova's database lacks."""

from nova_rt.rules import labels
from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_NAME = 'strangers.guests'
_PATH = '/run/libvirt/{}/{}.xml'


def guest(kind, number, mark=''):
    """Returns the file that libvirt keeps of a running guest."""
    name = f'instance-{number:08x}'
    return {_PATH.format(kind, name): (
        f'<domstatus pid="{number}"><domain><name>{name}</name><uuid>'
        f'uuid-{number}</uuid><metadata>{mark}</metadata></domain>'
        f'</domstatus>')}


MARK = f'<x:unknown xmlns:x="{labels.UNKNOWN}"/>'


class StrangersTest(base.DoctorTest):

    def test_none(self):
        self.assert_ok(self.examine(kernels.F1), _NAME)
        self.assert_ok(self.examine(kernels.F1, guest('qemu', 1)), _NAME)

    def test_some(self):
        for kind in ('qemu', 'lxc'):
            found = self.examine(
                kernels.F1, guest(kind, 1), guest(kind, 2, MARK))
            self.assert_warns(
                found, _NAME, 'they hold: instance-00000002 (uuid-2).',
                'Backup and restore')
            self.assertNotIn('instance-00000001', found[_NAME].text)

    def test_a_file_that_is_being_written(self):
        self.assert_ok(self.examine(kernels.F1, {
            _PATH.format('qemu', 'half'): '<domstatus'}), _NAME)
