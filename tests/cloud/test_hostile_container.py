# SPDX-License-Identifier: Apache-2.0

"""Tests what root of a container can take from its neighbours, on real parts.

All servers are on one pCPU.  Each attack is compared with the same victims
beside the same container while that container idles.  Windows with and without
the attack take turns.
"""

from collections.abc import Sequence
import pathlib
import statistics
import unittest

from nova_rt.machine.kernel import tasks
from tests.cloud import base
from tests.cloud import tenants
from tests import seeds

SYSCTLS = pathlib.Path('/proc/sys/kernel')
#: Eight of the longest period.
WINDOW_S = 1.6
#: More than the fewest where the machine itself disturbs the victims.
FEWEST_TURNS, MOST_TURNS = 2, 10
#: By how much a share, and a response time, may differ.
TOLERANCE = 0.02
PERCENTILE = 0.99


def percentile(windows: Sequence[tenants.Window]) -> float:
    """The lower median of the windows' p99, in us."""
    return statistics.median_low(
        sorted(each.responses)[int(PERCENTILE * len(each.responses))]
        for each in windows)


def share(windows: Sequence[tenants.Window], name: str) -> float:
    return statistics.median_low(each.shares[name] for each in windows)


class Turns:
    """Windows with an idle neighbour and with a hostile one, by turns."""

    def __init__(self) -> None:
        self.idle: list[tenants.Window] = []
        self.hostile: list[tenants.Window] = []

    def ratios(self) -> dict[str, float]:
        """Returns victims' values beside the hostile over the idle one."""
        return {'p99': percentile(self.hostile) / percentile(self.idle)} | {
            name: share(self.hostile, name) / share(self.idle, name)
            for name in tenants.VICTIMS}

    def taken(self, slower: float) -> dict[str, float]:
        """Returns the ratios that are not as they should be."""
        return {name: ratio for name, ratio in self.ratios().items()
                if (ratio > 1 + slower if name == 'p99'
                    else abs(ratio - 1) > TOLERANCE)}


@unittest.skipIf(base.groups.UNIFIED, 'its attacks know cgroup v1 only')
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
        for tenant in (self.hostile, self.stranger):
            self.assertTrue(tenant.is_mapped)
        for name in ('sched_rt_runtime_us', 'sched_rr_timeslice_ms'):
            path = SYSCTLS / name
            self.addCleanup(path.write_text, path.read_text())

    def attack(self, *words: object, by: tenants.Tenant | None = None,
               slower: float = TOLERANCE) -> None:
        """Checks that an attack takes nothing, and that it is refused.

        :param slower: by how much p99 may be longer
        """
        attacker = by or self.hostile
        self.addCleanup(attacker.calm)
        turns = Turns()
        while len(turns.idle) < FEWEST_TURNS or (
                turns.taken(slower) and len(turns.idle) < MOST_TURNS):
            turns.idle.append(self.company.window(WINDOW_S))
            attempts = attacker.obey(*words)
            self.assertEqual([], [line for line in attempts
                                  if line.endswith(': done')])
            turns.hostile.append(self.company.window(WINDOW_S))
            attacker.calm()
        self.assertEqual({}, turns.taken(slower))
        sold = self.hostile.server.claim.reservation.share
        self.assertLess(share(turns.hostile, 'hostile'),
                        sold * (1 + TOLERANCE))
        self.assert_as_claimed()

    def assert_as_claimed(self) -> None:
        """Checks that budgets and pCPUs are as nova-compute made them."""
        for tenant in self.company.tenants.values():
            server = tenant.server
            if server.claim is None:
                continue
            self.assertEqual(
                {'runtime_us': server.claim.in_kernel.runtime_us,
                 'period_us': server.claim.in_kernel.period_us},
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
        # Interrupts of its timers come in the time of whichever task runs.
        self.attack('timers', slower=0.1)

    def test_no_reservation_and_deadline_policy(self):
        self.attack('deadline', by=self.stranger)

    def test_no_reservation_and_highest_priority(self):
        self.attack('limits', by=self.stranger)

    def test_no_reservation_and_many_children(self):
        self.attack('forks', 100, by=self.stranger)

    def test_no_reservation_and_disk_and_network(self):
        self.attack('io', by=self.stranger)


load_tests = seeds.load_of_the_day(__name__, 3, 'NOVA_RT_LIFE')
