# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.emulators: threads that are not vCPUs."""

from nova_rt.machine.kernel import deadline
from tests.unit.rt_operate.doctor import base

_NAME = 'emulators.threads'
_GUEST = '/machine/qemu-1-a.libvirt-qemu'
_GROUP = f'/sys/fs/cgroup{_GUEST}'


def beside(thread: int, cpus: str, ran_s: int, start_s: int) -> base.Files:
    """The files of a thread with the CPU time that it had."""
    path = f'/proc/{thread}/task/{thread}'
    fields = ['0'] * 50
    fields[0], fields[1] = 'S', '1'
    fields[11], fields[19] = str(100 * ran_s), str(100 * start_s)
    return {f'{path}/stat': f'{thread} (IO a) b) ' + ' '.join(fields),
            f'{path}/status': f'Name:\tx\nCpus_allowed_list:\t{cpus}'}


class EmulatorsTest(base.DoctorTest):
    """QEMU has the threads 80 (emulator), 81 (vhost) and 82 (I/O)."""

    def look(self, *layers: base.Files, emulator: str = '0', io: str = '0',
             policy: int = 6, **options: str):
        tasks = {
            **base.process(80, 'qemu-kvm', f'{_GUEST}/emulator', v2=True),
            **base.process(80, 'CPU 0/KVM', f'{_GUEST}/vcpu0', policy,
                           v2=True, thread=90),
            f'{_GROUP}/emulator/cgroup.threads': '80\n81',
            f'{_GROUP}/iothread1/cgroup.threads': '82\n83',
            f'{_GROUP}/vcpu0/cgroup.threads': '90',
            '/proc/uptime': '1100.00 1.00'}
        own = {'/proc/80/task/80/status':
               f'Name:\tx\nCapBnd:\t0\nCpus_allowed_list:\t{emulator}'}
        return self.examine(
            base.MAINLINE, tasks, beside(81, emulator, 100, 100),
            beside(82, io, 20, 1000), own, *layers, **{
                'rt_cpus': '1', 'kernel_interface': deadline.NAME, **options})

    def test_off_reserved_pcpus(self):
        self.assert_ok(self.look(), _NAME, '1 server', 'CPUs 0, which',
                       'qemu-1-a.libvirt-qemu (0.300 CPUs)')

    def test_on_reserved_pcpus(self):
        for options in ({'io': '0-1'}, {'emulator': '1'}):
            self.assert_warns(self.look(**options), _NAME,
                              'of qemu-1-a.libvirt-qemu may',
                              'pCPUs 1, where', '(0.300 CPUs)',
                              'emulator_cpus')

    def test_only_with_a_reservation(self):
        self.assertNotIn(_NAME, self.look(policy=0))
        self.assertNotIn(_NAME, self.examine(base.F1))
