# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.emulators: threads that are not vCPUs."""

from nova_rt.machine.kernel import deadline
from tests.unit.rt_operate.doctor import base

_NAME, _LIMIT = 'emulators.threads', 'emulators.limit'
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
        self.assert_ok(self.look(), _NAME, '1 server', 'on CPU 0, which',
                       'qemu-1-a.libvirt-qemu (0.300 CPUs)')

    def test_on_reserved_pcpus(self):
        for options in ({'io': '0-1'}, {'emulator': '1'}):
            self.assert_warns(self.look(**options), _NAME,
                              'of qemu-1-a.libvirt-qemu may',
                              'on pCPU 1, and get there', '(0.300 CPUs)',
                              'emulator_cpus')

    def test_only_with_a_reservation(self):
        self.assertNotIn(_NAME, self.look(policy=0))
        self.assertNotIn(_NAME, self.examine(base.F1))

    def limit(self, share: float | None, emulator: str | None,
              io: str | None = None):
        """The findings with these limits in the kernel."""
        layer = {f'{_GROUP}/{name}/cpu.max': text for name, text in (
            ('emulator', emulator), ('iothread1', io)) if text}
        return self.look(layer, emulator_max_share=share, source='nova.conf')

    def test_limit_of_libvirt(self):
        self.assert_ok(self.limit(0.1, '1000 10000\n', '1000 10000\n'),
                       _LIMIT, 'is 0.1, and', 'of 1 server')
        self.assertNotIn(_LIMIT, self.limit(None, 'max 100000', 'max 100000'))

    def test_started_before_the_option(self):
        for share, emulator, io, words in (
                (0.1, 'max 100000', 'max 100000', '(unset)'),
                (0.1, '1000 10000', None, '(0.1 and unset)'),
                (0.1, '20000 100000', '20000 100000', '(0.2)'),
                (None, '1000 10000', '1000 10000', '(0.1)')):
            self.assert_warns(self.limit(share, emulator, io), _LIMIT, words,
                              'qemu-1-a.libvirt-qemu', 'reboot')

    def test_limit_in_the_first_version_of_cgroups(self):
        layer = {f'{_GROUP}/{name}/cpu.cfs_{what}_us': text
                 for name in ('emulator', 'iothread1')
                 for what, text in (('quota', '1000'), ('period', '10000'))}
        self.assert_ok(self.look(layer, emulator_max_share=0.1,
                                 source='nova.conf'), _LIMIT, 'is 0.1, and')
