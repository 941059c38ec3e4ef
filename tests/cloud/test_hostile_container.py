# SPDX-License-Identifier: Apache-2.0

"""What root of a container can take from its neighbours, on real parts.

All are on one pCPU.  Each attack is compared with the same victims beside
the same container while it idles, in windows that take turns.
"""

from collections.abc import Iterable
import pathlib
import statistics

from nova_rt.kernel import tasks
from tests.cloud import base
from tests.cloud import tenants

SYSCTLS = pathlib.Path('/proc/sys/kernel')
#: Of the longest period.
PERIODS = 10
TURNS = 2
#: What a share, and a response time, may differ by.
TOLERANCE = 0.02
PERCENTILE = 0.99


def percentile(windows: Iterable[tenants.Window]) -> float:
    """The median of the windows' p99, in us."""
    return statistics.median(
        sorted(each.responses)[int(PERCENTILE * len(each.responses))]
        for each in windows)


def share(windows: Iterable[tenants.Window], name: str) -> float:
    return statistics.mean(each.shares[name] for each in windows)


class HostileContainerTestCase(base.CloudTestCase):

    SETTINGS = ('nova_rt.rt_cpus=1',)
    company: tenants.Company

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.company = tenants.Company(tenants.start(base.settings.load()))

    def setUp(self) -> None:
        super().setUp()
        self.hostile = self.company.tenants['hostile']
        self.stranger = self.company.tenants['unreserved']
        for name in ('sched_rt_runtime_us', 'sched_rr_timeslice_ms'):
            path = SYSCTLS / name
            self.addCleanup(path.write_text, path.read_text())

    def attack(self, *words: object,
               by: tenants.Tenant | None = None) -> None:
        """It takes nothing, and all that it tries is refused."""
        attacker = by or self.hostile
        self.addCleanup(attacker.calm)
        idle, busy = [], []
        for _ in range(TURNS):
            idle.append(self.company.window(PERIODS))
            tries = attacker.obey(*words)
            self.assertEqual([], [line for line in tries
                                  if line.endswith(': done')])
            busy.append(self.company.window(PERIODS))
            attacker.calm()
        self.assert_kept(idle, busy)
        self.assert_as_claimed()

    def assert_kept(self, idle: list[tenants.Window],
                    busy: list[tenants.Window]) -> None:
        """Victims have what they had, and nobody has more than is sold."""
        for name in tenants.VICTIMS:
            before, after = share(idle, name), share(busy, name)
            self.assertLess(abs(after / before - 1), TOLERANCE, name)
        ratio = percentile(busy) / percentile(idle)
        print(ratio)
        self.assertLess(ratio, 1 + TOLERANCE)
        sold = self.hostile.server.claim.reservation.share
        self.assertLess(share(busy, 'hostile'), sold * (1 + TOLERANCE))

    def assert_as_claimed(self) -> None:
        """Budgets and pCPUs are what nova-compute made them."""
        for tenant in self.company.tenants.values():
            server = tenant.server
            if server.claim is None:
                continue
            self.assertEqual(
                {'runtime_us': server.claim.reservation.runtime_us,
                 'period_us': server.claim.reservation.period_us},
                server.kernel)
            cpus = server.below('cpuset') / server.group / tasks.CPUSET
            self.assertEqual('1', cpus.read_text().strip())

    def test_loops_that_never_sleep(self):
        self.attack('loops')

    def test_highest_priority(self):
        self.attack('fifo')

    def test_deadline_policy(self):
        self.attack('deadline')

    def test_its_own_budget(self):
        self.attack('budget')

    def test_a_group_of_its_own(self):
        self.attack('group')

    def test_mount_of_the_hierarchy(self):
        self.attack('mount')

    def test_sysctls(self):
        self.attack('sysctl')

    def test_processes_of_others(self):
        self.attack('others', *(
            pid for name in tenants.VICTIMS
            for pid in self.company.tenants[name].processes))

    def test_limits(self):
        self.attack('limits')

    def test_a_thousand_children(self):
        self.attack('forks', 1000)

    def test_a_budget_used_late_and_the_next_one_early(self):
        wanted = self.hostile.server.claim.reservation
        self.attack('late', wanted.runtime_us, wanted.period_us)

    def test_disk_and_network(self):
        self.attack('io')

    def test_timers(self):
        self.attack('timers')

    def test_no_reservation_and_deadline_policy(self):
        self.attack('deadline', by=self.stranger)

    def test_no_reservation_and_highest_priority(self):
        self.attack('limits', by=self.stranger)

    def test_no_reservation_and_many_children(self):
        self.attack('forks', 100, by=self.stranger)

    def test_no_reservation_and_disk_and_network(self):
        self.attack('io', by=self.stranger)
