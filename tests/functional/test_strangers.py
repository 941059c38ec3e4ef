# SPDX-License-Identifier: Apache-2.0

"""A guest that Nova's database does not know is counted and named."""

from typing import Any

from nova_rt import hostmap
from nova_rt import labels
from tests.functional import base
from tests.functional import operations
from tests.functional import strangers
from tests.functional import test_deadline
from tests import proof

_KNOWS_NOT = "Nova's database does not have it"


class StrangerTests:
    """The same for each way to enforce a reservation."""

    HOSTS = ('host1',)
    VCPUS = 2

    def said(self, text: str) -> int:
        return sum(text in line for line
                   in self.stdlog.logger.output.splitlines()
                   if ' WARNING ' in line)

    def free(self) -> dict[str, int]:
        """What Placement still offers of each class."""
        return {name: found['total'] - found['reserved'] - used
                for (name, found), used in zip(
                    sorted(self.inventories().items()), self.usage(),
                    strict=True)}

    def assert_counted(self, before: Any, empty: Any) -> None:
        """As it was while Nova knew the server, and nobody else took it."""
        self.assertEqual(before, self.free())
        state = self.host_map().state
        self.assertEqual(self.taken, (state.used, state.charged))
        self.assertLess(before[hostmap.RESOURCE_CLASS],
                        empty[hostmap.RESOURCE_CLASS])

    @proof.proves('A guest that the database does not have (a backup was '
                  'restored): audits, restart of nova-compute',
                  'it keeps its budget, which is not offered; said once')
    def test_counted(self) -> None:
        empty = self.free()
        server = self.reserved()
        self.taken = (self.host_map().state.used,
                      self.host_map().state.charged)
        before, granted = self.free(), self.kernel().granted()
        domain = strangers.lose(self, server)
        for _ in range(2):
            self.audit()
            self.assert_counted(before, empty)
        self.assertEqual(granted, self.kernel().granted())
        self.assertEqual(1, self.said(_KNOWS_NOT))
        self.assertEqual(1, self.said(f'{domain.name()} ({server["id"]})'))
        self.assertIn(labels.UNKNOWN, domain.rt_metadata)
        self.restart_compute_service('host1')
        self.assertEqual(granted, self.kernel().granted())
        self.assert_counted(before, empty)
        self.guests.vanish(domain)
        self.audit()
        self.assertEqual(empty, self.free())
        self.assertEqual({0}, set(self.host_map().state.used))

    @proof.proves('A guest that the database does not have: a new server '
                  'that needs what it holds', 'refused; one that fits beside '
                  'it runs on other pCPUs')
    def test_new_servers(self) -> None:
        server = self.reserved()
        taken = self.claimed(server).cpus
        domain = strangers.lose(self, server)
        self.audit()
        refused = self.boot(self.flavor(600, base.PCPUS - 1), status='ERROR')
        self._delete_server(refused)
        self.fits_beside(taken)
        self.guests.vanish(domain)

    def fits_beside(self, taken: tuple[int, ...]) -> None:
        other = self.boot(self.flavor(600))
        self.assertEqual(set(), set(taken) & set(self.claimed(other).cpus))


class MachineTest(StrangerTests, operations.TestCase):
    """Virtual machines, by a budget for each pCPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'


class ContainerTest(StrangerTests, operations.TestCase):
    """A kernel that grants a runtime on every CPU."""

    def assert_counted(self, before: Any, empty: Any) -> None:
        """The kernel says nothing of the pCPUs that it had."""
        self.assertEqual(self.taken[1], self.host_map().state.charged)
        found = self.free()
        self.assertEqual(before[hostmap.SHARE_CLASS],
                         found[hostmap.SHARE_CLASS])
        self.assertLessEqual(found[hostmap.RESOURCE_CLASS],
                             before[hostmap.RESOURCE_CLASS])

    def fits_beside(self, taken: tuple[int, ...]) -> None:
        """Nothing does by a kernel that grants it everywhere."""
        self.boot(self.flavor(600), status='ERROR')


class DeadlineTest(StrangerTests, test_deadline.Stock, operations.TestCase):
    """Virtual machines by SCHED_DEADLINE."""
