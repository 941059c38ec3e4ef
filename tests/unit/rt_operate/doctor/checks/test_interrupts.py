# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.interrupts: handlers below vCPUs."""

from nova_rt.rules import cpulist
from rt_operate.doctor.checks import interrupts
from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_REALTIME = {'/sys/kernel/realtime': '1', cpulist.ISOLATED: ''}


def interrupt(number, affinity, cpus=None, effective=None):
    """An interrupt with its thread, which has ten times its number."""
    thread = number * 10
    files = {
        **base.process(thread, f'irq/{number}-disk', '/', 1, 50, kernel=True,
                       v2=True),
        f'/proc/irq/{number}/smp_affinity_list': affinity,
        f'/proc/irq/{number}/effective_affinity_list': effective or affinity}
    files[f'/proc/{thread}/task/{thread}/status'] = (
        f'Cpus_allowed_list:\t{cpus or affinity}')
    return files


def irqbalance(banned=''):
    return {**base.process(95, 'irqbalance', '/system.slice/x', v2=True),
            '/proc/95/environ': f'A=b\0IRQBALANCE_BANNED_CPULIST={banned}\0'}


class InterruptsTest(base.DoctorTest):
    """Two CPUs, and reservations on CPU 1."""

    def look(self, *layers, **options):
        return self.examine(
            base.MAINLINE, _REALTIME,
            {'/proc/irq/default_smp_affinity': '1'}, *layers,
            **{'rt_cpus': '1', **options})

    def test_other_kernels(self):
        files = interrupt(24, '0-1')
        found = self.examine(base.MAINLINE, {cpulist.ISOLATED: ''}, files)
        self.assertEqual([], [name for name in found
                              if name.startswith('interrupts')])
        # Groups of mainline have a priority, below that of interrupts.
        found = self.examine(kernels.F1, _REALTIME, files)
        self.assertNotIn(interrupts.THREADS, found)
        for layer in ({'/proc/cmdline': 'threadirqs'}, _REALTIME):
            found = self.examine(kernels.F4, files, layer)
            self.assert_problem(found, interrupts.THREADS)

    def test_threads(self):
        found = self.look(interrupt(24, '0-1', '0', '0'),
                          interrupt(25, '1'), interrupt(26, '0'))
        self.assert_problem(
            found, interrupts.THREADS, 'pCPU 1 of',
            '240 irq/24-disk, 250 irq/25-disk.', 'for n in 24 25; do echo 0 '
            '> /proc/irq/$n/smp_affinity_list; done',
            'for n in 240 250; do taskset -cp 0 $n; done')
        self.assert_ok(found, 'capacity.offered', 'threads of interrupts wait')

    def test_advice_is_followed(self):
        found = self.look(interrupt(24, '0'), interrupt(25, '1', '0', '1'))
        self.assert_ok(found, interrupts.THREADS, 'stay on CPU 0, off')
        self.assert_ok(found, 'interrupts.default')
        self.assertNotIn('wait', found['capacity.offered'].text)
        self.assertNotIn('interrupts.balancer', found)
        self.assertNotIn('interrupts.per_cpu', found)

    def test_shared_cpus(self):
        """Without rt_cpus reservations are on all of cpu_shared_set."""
        for options, check in (
                ({'cpu_shared_set': '1'}, self.assert_ok),
                ({'cpu_shared_set': '0-1'}, self.assert_problem)):
            check(self.look(interrupt(24, '0'), rt_cpus=None, **options),
                  interrupts.THREADS)

    def test_no_cpu_is_left(self):
        found = self.look(interrupt(24, '0-1'), rt_cpus=None)
        self.assert_problem(found, interrupts.THREADS,
                            '[nova_rt] rt_cpus = 1')
        one = {'/sys/devices/system/cpu/online': '0'}
        found = self.look(interrupt(24, '0'), one, rt_cpus=None)
        self.assert_problem(found, interrupts.THREADS, 'one CPU')

    def test_a_thread_that_ended(self):
        files = interrupt(24, '0-1')
        del files['/proc/240/task/240/status']
        gone = base.process(250, 'irq/25-x', '/', 1, 50, kernel=True)
        del gone['/proc/250/task/250/status']
        self.assert_ok(self.look(files, gone), interrupts.THREADS)

    def test_a_process_of_that_name(self):
        files = base.process(240, 'irq/24-mine', '/system.slice/x', 1, 50,
                             v2=True)
        self.assert_ok(self.look(files), interrupts.THREADS)

    def test_new_devices(self):
        path = '/proc/irq/default_smp_affinity'
        self.assert_problem(self.look({path: '3'}), 'interrupts.default',
                            'pCPU 1 of', f'echo 1 > {path}')
        self.assert_problem(self.look({path: '3'}, rt_cpus=None),
                            'interrupts.default', 'Leave a CPU')
        self.assert_problem(self.look({path: 'much'}), 'interrupts.default',
                            'could not be completed')

    def test_balancer(self):
        for banned, check in (('', self.assert_problem),
                              ('0', self.assert_problem),
                              ('much', self.assert_problem),
                              ('1', self.assert_ok), ('0-1', self.assert_ok)):
            check(self.look(irqbalance(banned)), 'interrupts.balancer')
        files = irqbalance()
        del files['/proc/95/environ']
        self.assert_problem(self.look(files), 'interrupts.balancer',
                            'IRQBALANCE_BANNED_CPULIST=1')

    def test_threads_of_one_cpu(self):
        bound = {}
        for pid, comm in ((30, 'ktimers/0'), (31, 'ktimers/1'),
                          (32, 'rcuc/1'), (33, 'ktimers/x')):
            bound.update(base.process(pid, comm, '/', 1, 1, kernel=True))
        self.assert_warns(self.look(bound), 'interrupts.per_cpu',
                          'ktimers/1, rcuc/1.', 'Boot with rcu_nocbs=1')
        moved = base.process(34, 'rcuop/1', '/', kernel=True)
        self.assert_ok(self.look(bound, moved), 'interrupts.per_cpu',
                       'cannot be moved: ktimers/1, rcuc/1;')
