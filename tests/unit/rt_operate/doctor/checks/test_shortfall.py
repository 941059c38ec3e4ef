# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.shortfall: vCPUs that get too little."""

from unittest import mock

from nova_rt.machine.host import sched
from nova_rt.machine.host import thread
from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import shortfall
from nova_rt.rules import cpulist
from tests.unit.rt_operate.doctor import base

_GUEST = '/machine/qemu-1-a.libvirt-qemu'


class ShortfallTest(base.DoctorTest):
    """Threads 90 and 91 are vCPUs, thread 92 is not."""

    def look(self, shares: dict[int, float]):
        """Checks while each thread gets its share; 0.3 is reserved."""
        tasks = {
            **base.process(80, 'qemu-kvm', f'{_GUEST}/emulator', v2=True),
            **base.process(90, 'CPU 0/KVM', f'{_GUEST}/vcpu0', 6, v2=True),
            **base.process(91, 'CPU 1/KVM', f'{_GUEST}/vcpu1', 6, v2=True),
            **base.process(92, 'other', '/system.slice/x', 6, v2=True)}
        policy = sched.Policy(6, 0, 30_000_000, 100_000_000, 100_000_000)
        self.now = 0.0
        with (mock.patch.object(sched, 'get', lambda _: policy),
              mock.patch.object(shortfall, 'time', self),
              mock.patch.object(thread, 'is_runnable', lambda _: True),
              mock.patch.object(thread, 'pauses', lambda _: 1),
              mock.patch('nova_rt.machine.kernel.starving.Watch.starves',
                         return_value=False),
              mock.patch.object(
                  thread, 'ran_ns',
                  lambda number: int(shares[number] * self.now * 1e9))):
            return self.examine(base.MAINLINE, {cpulist.ISOLATED: ''}, tasks,
                                kernel_interface=deadline.NAME)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def test_all_get_their_share(self):
        self.assert_ok(self.look({90: 0.3, 91: 0.3, 92: 0.1}),
                       'deadline.share')

    def test_one_gets_less(self):
        found = self.look({90: 0.3, 91: 0.1, 92: 0.1})
        self.assert_problem(found, 'deadline.share', '91 CPU 1/KVM')
        self.assertNotIn('other', found['deadline.share'].text)
