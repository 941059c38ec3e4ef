# SPDX-License-Identifier: Apache-2.0

"""Virtual machines by SCHED_DEADLINE move between two real hosts.

One kernel admits both, so what a guest holds at its source counts for the
destination too.
"""

from tests.cloud import base as cloud_base
from tests.cloud import pinned
from tests.hosts import base
from tests.hosts import test_live_migration as moves


class DeadlineTestCase(pinned.PinnedTests, moves.SharesTestCase):

    GUEST = base.HostsTestCase.GUEST
    POLICIES = pinned.POLICIES

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.addClassCleanup(cls.restart, 'rt_group_sched')
        cls.restart('sched_deadline')

    @classmethod
    def restart(cls, interface: str) -> None:
        cloud_base.cloud('restart', '--set',
                         f'nova_rt.kernel_interface={interface}')

    def assert_runs(self, server: base.Server, host: str) -> None:
        """Asserts that the vCPUs kept their policy, each on its pCPU."""
        super().assert_runs(server, host)
        self.assert_pinned(self.on_host(server))

    def test_busy(self):
        server = self.reserved(base.EAST)
        self.assert_runs(server, base.EAST)
        for host in (base.WEST, base.EAST):
            self.assert_keeps_its_share(server, host)
            self.assert_runs(server, host)

    def test_in_a_row(self):
        server = self.reserved(base.EAST, 'idle')
        for host in (base.WEST, base.EAST) * 3:
            self.move(server, host)
            self.assert_runs(server, host)
