# SPDX-License-Identifier: Apache-2.0

"""nova-compute is killed at each step of each operation; see kill_matrix."""

from collections.abc import Callable
import contextlib

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from rt_operate.manage import hints
from rt_operate.manage import reserve
from tests.functional import base
from tests.functional import kill_live
from tests.functional import kill_matrix
from tests.functional import kill_moves
from tests.functional import live
from tests.functional import operations
from tests import proof
from tests import seeds


class ContainerTest(kill_moves.MoveKillTests, operations.TestCase):
    """The tests on a kernel that grants a runtime on every CPU."""


class GroupMachineTest(kill_matrix.KillTests, operations.TestCase):
    """Virtual machines whose parents shrink a second after their vCPUs."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F1'
    VCPUS = 2

    def lower(self, server: kill_matrix.Server) -> None:
        with contextlib.suppress(exception.CannotChangeReservation):
            reserve.change(hints.server(server['id']),
                           {base.HINT_RUNTIME: 20_000})

    @proof.proves(
        'nova-rt-manage reserve, a smaller runtime on RT_GROUP_SCHED, '
        'nova-compute is killed, at each step',
        'The server has one of the two reservations, and no group keeps more '
        'than the groups below it.')
    def test_lower(self) -> None:
        self.matrix(kill_matrix.Operation(
            'lower', lambda: self.boot_here(self.large), self.lower))


class MachineTest(kill_live.LiveKillTests, operations.TestCase):
    """Virtual machines, on a kernel with a runtime for each CPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'
    VCPUS = 2

    @proof.proves(
        'Live migration, nova-compute of one end is killed, at each step',
        'The guest keeps its claim where it runs. An operator starts the '
        'server where Nova has it.')
    def test_live_migration(self) -> None:
        self.ends_at = 'host2'
        self.matrix(kill_matrix.Operation(
            'live', lambda: self.boot_here(self.large), self.migrate_live))

    @proof.proves(
        'Live migration that fails while nova-compute of one end is killed, '
        'at each step',
        'The server stays on the source as before, and nothing is left at '
        'the destination.')
    def test_failed_live_migration(self) -> None:
        self.ends_at, self.libvirt.ends = 'host1', live.FAILED
        self.matrix(kill_matrix.Operation(
            'failed', lambda: self.boot_here(self.large), self.migrate_live))

    @proof.proves(
        'Live migration, nova-compute of one end is killed, and the server '
        'is deleted before nova-compute is back, at each step',
        'Once nova-compute is back, no claim and no budget is left.')
    def test_deleted_meanwhile(self) -> None:
        self.ends_at = 'host2'
        self.matrix(kill_matrix.Operation(
            'deleted', lambda: self.boot_here(self.large),
            self.delete_meanwhile))

    def leave(self, run: Callable[[kill_matrix.Server], None],
              at: str = 'libvirt copies') -> None:
        """The source is killed at a step, and comes back."""
        self.ends_at = 'host2'
        server = self.boot_here(self.large)
        with self.killer.armed(f'host1: {at}'):
            run(server)
        self.restart()
        self.check()

    @proof.proves(
        'Live migration, nova-compute of the source is killed when the '
        'migration begins, or while libvirt copies',
        "Nova keeps the allocations of both hosts. 'nova-rt-manage check' "
        'names the commands that repair them.')
    def test_left_by_a_live_migration(self) -> None:
        for at in ('RPC pre_live_migration', 'libvirt copies'):
            self.leave(self.migrate_live, at)
            self.operate()
            self.assert_invariants()
            self.assertEqual((1_200_000, 600_000), self.usage('host1'))
            self.assert_nothing_left('host2')
            self.finish()

    @proof.proves(
        'Live migration, nova-compute of the source is killed while libvirt '
        'copies, and the server is deleted before nova-compute is back',
        "Nova keeps the allocation of the migration. 'nova-rt-manage heal' "
        'removes the part of this allocation that belongs to nova-rt.')
    def test_left_by_a_deleted_server(self) -> None:
        self.leave(self.delete_meanwhile)
        left = self._get_allocations_by_provider_uuid(
            self.compute_rp_uuids['host1'])
        (held,) = (each['resources'] for each in left.values())
        self.assertLessEqual({'VCPU', *hostmap.CLASSES}, set(held))
        self.assertEqual(1, self.operator.heal())
        self.assert_nothing_left(*self.computes)


load_tests = seeds.load_of_the_day(__name__, 4, 'NOVA_RT_KILL')
