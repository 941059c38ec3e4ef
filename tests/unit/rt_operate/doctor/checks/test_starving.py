# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.starving: vCPUs that get nothing."""

from unittest import mock

from nova_rt.machine.host import sched
from nova_rt.machine.host import thread
from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import starving
from nova_rt.rules import cpulist
from tests.unit.rt_operate.doctor import base

_GUEST = '/machine/qemu-1-a.libvirt-qemu'


class StarvingTest(base.DoctorTest):
    """Threads 90 and 91 are vCPUs, thread 92 is not."""

    def look(self, runs: dict[int, bool]):
        ran = dict.fromkeys(runs, 0)

        def ran_ns(number: int) -> int:
            ran[number] += runs[number]
            return ran[number]

        tasks = {
            **base.process(80, 'qemu-kvm', f'{_GUEST}/emulator', v2=True),
            **base.process(90, 'CPU 0/KVM', f'{_GUEST}/vcpu0', 6, v2=True),
            **base.process(91, 'CPU 1/KVM', f'{_GUEST}/vcpu1', 6, v2=True),
            **base.process(92, 'other', '/system.slice/x', 6, v2=True)}
        policy = sched.Policy(6, 0, 300_000, 1_000_000, 1_000_000)
        with (mock.patch.object(sched, 'get', lambda _: policy),
              mock.patch.object(starving, '_GRACE_SECONDS', 0.01),
              mock.patch.object(thread, 'is_runnable', lambda _: True),
              mock.patch.object(thread, 'ran_ns', ran_ns)):
            return self.examine(base.MAINLINE, {cpulist.ISOLATED: ''}, tasks,
                                kernel_interface=deadline.NAME)

    def test_all_run(self):
        self.assert_ok(self.look({90: True, 91: True, 92: True}),
                       'deadline.starving')

    def test_one_gets_nothing(self):
        found = self.look({90: True, 91: False, 92: False})
        self.assert_problem(found, 'deadline.starving', '91 CPU 1/KVM')
        self.assertNotIn('other', found['deadline.starving'].text)
