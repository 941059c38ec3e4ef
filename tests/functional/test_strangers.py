# SPDX-License-Identifier: Apache-2.0

"""A guest that Nova's database does not have here is counted and named."""

from typing import Any

from nova_rt.rules import hostmap
from nova_rt.rules import labels
from tests.functional import base
from tests.functional import operations
from tests.functional import strangers
from tests.functional import test_deadline
from tests import proof
from tests import seeds

_KNOWS_NOT = "Nova's database does not have it"


class StrangerTests:
    """The tests for each way to enforce a reservation."""

    HOSTS = ('host1',)
    VCPUS = 2

    def said(self, text: str) -> int:
        return sum(text in line for line
                   in self.stdlog.logger.output.splitlines()
                   if ' WARNING ' in line)

    def free(self, host: str = 'host1') -> dict[str, int]:
        """Returns what Placement still offers of each class."""
        return {name: found['total'] - found['reserved'] - used
                for (name, found), used in zip(
                    sorted(self.inventories(host).items()), self.usage(host),
                    strict=True)}

    def assert_counted(self, before: Any, empty: Any) -> None:
        """Checks that the counts are the same as before Nova lost it."""
        self.assertEqual(before, self.free())
        state = self.host_map().state
        self.assertEqual(self.taken, (state.used, state.charged))
        self.assertLess(before[hostmap.RESOURCE_CLASS],
                        empty[hostmap.RESOURCE_CLASS])

    @proof.proves(
        'A guest that the database does not have (a backup was restored): '
        'audits, restart of nova-compute',
        'The guest keeps its budget, and the host does not offer this '
        'bandwidth. The log of nova-compute names the guest once.')
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

    @proof.proves(
        'A guest that the database does not have: a new server that needs '
        'the bandwidth of the guest',
        'The server is refused. A server that fits beside the guest runs on '
        'other pCPUs.')
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


class MovedTests:
    """A server that moved since the backup, for each way to enforce."""

    VCPUS = 2

    free = StrangerTests.free
    said = StrangerTests.said

    def moves(self, server: Any) -> None:
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')

    def assert_kept(self, server: Any, before: Any) -> None:
        """Asserts that the guest keeps its share, and that nobody gets it."""
        for _ in range(2):
            self.audit('host1')
            self.audit('host2')
            granted, free = before
            self.assertEqual(granted, self.kernel('host2').granted())
            self.assert_free(free, self.free('host2'))

    def assert_free(self, before: Any, now: Any) -> None:
        self.assertEqual(before, now)

    @proof.proves(
        'A server that moved after the backup that was restored: audits and '
        'restart of nova-compute where its guest runs; then the guest is '
        'ended there, and the server is hard rebooted',
        'The guest keeps its budget, and the host does not offer this '
        'bandwidth. The log of nova-compute has one warning that names the '
        'guest and the host in the database. After the reboot, everything '
        'is as in the backup.')
    def test_moved(self) -> None:
        server = self.reserved('host1')
        empty, backup = self.free('host2'), strangers.back_up(self, server)
        self.moves(server)
        before = self.kernel('host2').granted(), self.free('host2')
        strangers.restore(self, server, backup)
        self.assert_kept(server, before)
        domain = self.domain(server, 'host2')
        self.assertEqual(1, self.said(f'{domain.name()} ({server["id"]})'))
        self.assertEqual(1, self.said("Nova's database has it on host1"))
        self.assertIn(labels.UNKNOWN, domain.rt_metadata)
        self.restart_compute_service('host2')
        self.assert_kept(server, before)
        # As the page on backups says.
        self.guests.forget(domain)
        self.audit('host2')
        self.assertEqual(empty, self.free('host2'))
        self.act(server, 'reboot', {'type': 'HARD'}, 'ACTIVE')
        self.assert_runs(server, 'host1', 600)

    def test_unshelved(self) -> None:
        """In the backup, the server is on no host."""
        self.flags(shelved_offload_time=0)
        server = self.reserved('host1')
        self.act(server, 'shelve', None, 'SHELVED_OFFLOADED')
        backup = strangers.back_up(self, server)
        self.disable('host1')
        self.act(server, 'unshelve', None, 'ACTIVE')
        before = self.kernel('host2').granted(), self.free('host2')
        strangers.restore(self, server, backup)
        self.assert_kept(server, before)
        self.assertEqual(1, self.said("Nova's database has it on no host"))


class MovedMachineTest(MovedTests, operations.TestCase):
    """Virtual machines, by a budget for each pCPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'


class MovedContainerTest(MovedTests, operations.TestCase):
    """A kernel that grants a runtime on every CPU."""

    def assert_free(self, before: Any, now: Any) -> None:
        """The kernel says nothing of the pCPUs that it had."""
        self.assertEqual(before[hostmap.SHARE_CLASS],
                         now[hostmap.SHARE_CLASS])
        self.assertLessEqual(now[hostmap.RESOURCE_CLASS],
                             before[hostmap.RESOURCE_CLASS])


class MovedDeadlineTest(MovedTests, test_deadline.Stock,
                        operations.TestCase):
    """Virtual machines by SCHED_DEADLINE."""


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


load_tests = seeds.load_of_the_day(__name__, 4, 'NOVA_RT_OPERATIONS')
