# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.soft: what soft reservations get now."""

from unittest import mock

from nova_rt.machine.host import sched
from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor.checks import test_kernel

_NAME = 'deadline.soft'
_NOVA = 'http://openstack.org/xmlns/libvirt/nova/1.1'


def _guest(number, kind, threads):
    name = f'instance-{number:08x}'
    vcpus = ''.join(f'<vcpu id="0" pid="{thread}"/>' for thread in threads)
    return {f'/run/libvirt/qemu/{name}.xml': (
        f'<domstatus pid="{number}"><vcpus>{vcpus}</vcpus><domain><name>{name}'
        f'</name><metadata><nova:instance xmlns:nova="{_NOVA}"><nova:flavor>'
        f'<nova:extraSpecs><nova:extraSpec name="hw:cpu.rt_reservation">{kind}'
        f'</nova:extraSpec></nova:extraSpecs></nova:flavor></nova:instance>'
        f'</metadata></domain></domstatus>')}


def _policy(thread):
    """Thread 8 has ended, and thread 9 is ordinary."""
    if thread == 8:
        raise ProcessLookupError
    return sched.Policy(0) if thread == 9 else sched.Policy(
        sched.SCHED_DEADLINE, 0, thread * 10_000, 100_000, 100_000)


class SoftTest(base.DoctorTest):

    def look(self, *layers):
        with mock.patch.object(sched, 'get', _policy):
            return self.examine(base.MAINLINE, test_kernel.NO, *layers)

    def test_none(self):
        self.assertNotIn(_NAME, self.look())
        self.assertNotIn(_NAME, self.look(_guest(1, 'hard', (5,))))

    def test_some(self):
        self.assert_ok(
            self.look(_guest(1, 'soft', (6, 5, 9)), _guest(2, 'soft', (8,)),
                      _guest(3, 'hard', (7,))),
            _NAME, '2 guests with a soft', 'instance-00000001 0.500, '
            'instance-00000002 0.000.')
