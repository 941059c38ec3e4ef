# SPDX-License-Identifier: Apache-2.0

"""Tests a reserved virtual machine on real parts, from API to kernel."""

import pathlib
import unittest

from tests.cloud import base
from tests.full.kernel import sold

ROOT = base.host.MACHINE.parent
MACHINE = base.host.MACHINE
CPUSET = base.groups.tree('cpuset') / 'machine'

RT_INSIDE_ONLY = {'guest': ['SCHED_RR'], 'host': ['SCHED_OTHER']}


def number(path: pathlib.Path) -> int:
    return int(path.read_text())


def vcpu_threads(group: str) -> list[str]:
    """Returns the names of the threads in a group."""
    return sorted(pathlib.Path(f'/proc/{task}/comm').read_text().strip()
                  for task in (MACHINE / group / 'tasks').read_text().split())


@unittest.skipIf(base.groups.UNIFIED, 'looks at the groups of cgroup v1')
class ReservedQemuTestCase(base.CloudTestCase):

    GUEST = 'qemu'

    def test_flavor(self):
        server = self.boot(self.flavor())
        found = self.on_host(server)
        group = MACHINE / found.group
        self.assertEqual({'runtime_us': 100_000, 'period_us': 200_000},
                         found.kernel)
        self.assertEqual((500_000, 1_000_000), (
            number(group / 'cpu.rt_runtime_us'),
            number(group / 'cpu.rt_period_us')))
        for other in ('emulator', 'iothread1'):
            self.assertEqual(0, number(group / other / 'cpu.rt_runtime_us'))
        self.assertEqual(RT_INSIDE_ONLY, base.host.policies(found))
        self.assertEqual(['CPU 0/TCG'], vcpu_threads(f'{found.group}/vcpu0'))
        cpus = (CPUSET / found.group / 'vcpu0' / 'cpuset.cpus').read_text()
        self.assertEqual(str(found.claim.cpus[0]), cpus.strip())
        self.assert_parent_holds_all()
        self.delete(server)
        self.assert_nothing_left()
        self.assertEqual([], list(MACHINE.glob('qemu-*')))

    def test_it_boots(self):
        server = self.busy(self.flavor(), {'cpu.rt_runtime_us': 120_000})
        self.assertEqual({'runtime_us': 120_000, 'period_us': 200_000},
                         self.on_host(server).kernel)

    def test_two_vcpus_hold_their_share_once(self):
        server = self.boot(self.flavor(30_000, 100_000, vcpus=2))
        found = self.on_host(server)
        self.assertEqual([0, 1], sorted(found.claim.cpus))
        self.assertEqual({'runtime_us': 30_000, 'period_us': 100_000},
                         found.kernel)
        self.assertEqual(['CPU 0/TCG', 'CPU 1/TCG'],
                         vcpu_threads(f'{found.group}/vcpu0'))
        self.assertEqual(
            0, number(MACHINE / found.group / 'vcpu1/cpu.rt_runtime_us'))
        self.assertEqual(300_000, base.host.charged(self.settings))
        self.assert_parent_holds_all()
        self.assertEqual(RT_INSIDE_ONLY, base.host.policies(found))
        for vcpu, cpu in enumerate(found.claim.cpus):
            cpus = CPUSET / found.group / f'vcpu{vcpu}' / 'cpuset.cpus'
            self.assertEqual(str(cpu), cpus.read_text().strip())
        self.boot(self.flavor(600_000, 1_000_000))

    def test_hard_reboot(self):
        server = self.boot(self.flavor())
        before = self.on_host(server)
        after = self.hard_reboot(server)
        self.assertEqual({'runtime_us': 100_000, 'period_us': 200_000},
                         after.kernel)
        self.assertEqual(before.claim, after.claim)
        self.assertEqual(RT_INSIDE_ONLY, base.host.policies(after))

    def test_it_never_runs_without_its_budget(self):
        # nova-compute must not learn in its audit that the kernel has lost the
        # budget.
        base.cloud('restart', '--set', 'DEFAULT.update_resources_interval=600')
        self.addCleanup(base.cloud, 'restart', '--set',
                        'DEFAULT.update_resources_interval=10')
        self.fill_root_pool()
        server = self.boot(self.flavor(), wanted='ERROR')
        logged = [line for line in
                  self.settings.log_file('nova').read_text().splitlines()
                  if server.id in line]
        self.assertTrue([line for line in logged
                         if 'Kernel interface rt_group_sched' in line])
        self.assertTrue([line for line in logged if 'VM Started' in line])
        self.assertEqual([], [line for line in logged
                              if 'VM Resumed' in line])
        self.assertEqual([], list(MACHINE.glob('qemu-*')))

    def fill_root_pool(self) -> None:
        """Leaves less than half a CPU to the groups of real-time tasks."""
        foreign = ROOT / 'nova-rt-test'
        foreign.mkdir()
        self.addCleanup(foreign.rmdir)
        (foreign / 'cpu.rt_runtime_us').write_text('600000')


@unittest.skipUnless(base.groups.UNIFIED, 'looks at the groups of cgroup v2')
class UnifiedQemuTestCase(base.CloudTestCase):

    GUEST = 'qemu'
    #: How far the share of the vCPU may be off, in CPUs.
    TOLERANCE = 0.02

    def test_flavor(self):
        server = self.boot(self.flavor())
        found = self.on_host(server)
        self.assertEqual({'runtime_us': 100_000, 'period_us': 200_000},
                         found.kernel)
        self.assertEqual(RT_INSIDE_ONLY, base.host.policies(found))
        [cpu] = found.claim.cpus
        group = MACHINE / found.group / 'vcpu0'
        self.assertEqual(str(cpu), (group / 'cpuset.cpus').read_text().strip())
        # The vCPU is busy while the guest boots.
        with sold.company([cpu]):
            share = base.measure.shares([found], 4)[found.name]
        print(f'share of 0.5: {share:.4f}')
        self.assertAlmostEqual(0.5, share, delta=self.TOLERANCE)
        self.assert_in_step()
        self.delete(server)
        self.assert_nothing_left()
        self.assertEqual([], list(MACHINE.glob('qemu-*')))
