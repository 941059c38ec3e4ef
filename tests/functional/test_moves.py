# SPDX-License-Identifier: Apache-2.0

"""A reservation moves with its server: resize, migration, evacuation."""

from typing import Any

from tests.functional import operations
from tests import proof
from tests import seeds


class MoveTests:
    """The moves of containers and of virtual machines."""

    HOSTS = ('host1', 'host2')

    def resize(self, server: operations.Server, share: int,
               status: str = 'VERIFY_RESIZE') -> None:
        self.act(server, 'resize', {'flavorRef': self.flavor(share)}, status)

    def stay(self) -> None:
        """Leaves only the host of the server to the server."""
        # By the name of its host Nova tells whether it stayed.
        self.flags(allow_resize_to_same_host=True, host='host1')
        self.disable('host2')

    def assert_held(self, server: operations.Server,
                    **shares: int) -> None:
        """Thousandths that the server holds on each host, in any move."""
        for host in self.computes:
            held = sum(claim.reservation.bandwidth // 1000 for claim
                       in self.computes[host].manager.rt.rt_claims()
                       if claim.instance_uuid == server['id'])
            self.assertEqual(shares.get(host, 0), held, host)

    @proof.proves(
        'Cold migration, confirmed',
        'The reservation follows the server. Both hosts keep the '
        'reservation until the migration is confirmed.')
    def test_cold_migration(self) -> None:
        server = self.reserved()
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.assert_held(server, host1=600, host2=600)
        self.assert_runs(server, 'host2', 600)
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_held(server, host2=600)
        self.assert_runs(server, 'host2', 600)

    @proof.proves(
        'Cold migration, reverted',
        'The server is back on its old pCPUs, and nothing is left at the '
        'destination.')
    def test_cold_migration_reverted(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.act(server, 'revertResize', None, 'ACTIVE')
        self.assertEqual(before, self.claimed(server))
        self.assert_held(server, host1=600)
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Cold migration of a stopped server',
        'The reservation follows the server. There is no budget until the '
        'server is started.')
    def test_cold_migration_while_off(self) -> None:
        server = self.reserved()
        self.act(server, 'os-stop', None, 'SHUTOFF')
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'SHUTOFF')
        self.assert_off(server, 'host2', 600)
        self.act(server, 'os-start', None, 'ACTIVE')
        self.assert_runs(server, 'host2', 600)

    @proof.proves(
        'Resize up to another host, confirmed',
        'The server has the new reservation on the other host. Both '
        'reservations are held until the resize is confirmed.')
    def test_resize_up(self) -> None:
        server = self.reserved(share=300)
        self.resize(server, 600)
        self.assert_held(server, host1=300, host2=600)
        self.assert_runs(server, 'host2', 600)
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_held(server, host2=600)
        self.assert_runs(server, 'host2', 600)

    @proof.proves(
        'Resize down to another host, reverted',
        'The server has the old reservation on the old pCPUs.')
    def test_resize_down_reverted(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        self.resize(server, 300)
        self.assert_held(server, host1=600, host2=300)
        self.act(server, 'revertResize', None, 'ACTIVE')
        self.assertEqual(before, self.claimed(server))
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Resize up on the same host, confirmed',
        'The server has the new reservation. The host needs room for both '
        'reservations until the resize is confirmed.')
    def test_resize_here(self) -> None:
        self.stay()
        server = self.reserved(share=300)
        self.resize(server, 600)
        self.assert_held(server, host1=900)
        self.assert_runs(server, 'host1', 600)
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_held(server, host1=600)
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Resize down on the same host, reverted',
        'The server has the old reservation on the old pCPUs.')
    def test_resize_down_here_reverted(self) -> None:
        self.stay()
        server = self.reserved(share=600)
        before = self.claimed(server)
        self.resize(server, 300)
        self.assert_runs(server, 'host1', 300)
        self.act(server, 'revertResize', None, 'ACTIVE')
        self.assertEqual(before, self.claimed(server))
        self.assert_held(server, host1=600)
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Resize that fits nowhere',
        'The resize is refused. The server runs on with its reservation.')
    def test_resize_refused(self) -> None:
        server = self.reserved(share=600)
        other = self.reserved('host2', 600, vcpus=4)
        self.refused(server, 'resize', {'flavorRef': self.flavor(900)})
        self._wait_for_state_change(server, 'ACTIVE')
        self.assert_invariants()
        for each, host in ((server, 'host1'), (other, 'host2')):
            self.assert_runs(each, host, 600)

    @proof.proves(
        'Resize to a flavor without a reservation, and back',
        'The reservation is released, and then claimed again.')
    def test_resize_away(self) -> None:
        server = self.reserved()
        plain = self.rt_flavor(None, None)
        self.act(server, 'resize', {'flavorRef': plain}, 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assertIsNone(self.claim(server))
        self.assert_nothing_left(*self.computes)
        self.resize(server, 300)
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_runs(server, 'host1', 300)

    @proof.proves(
        'Delete while resized',
        'The reservation is released on both hosts.')
    def test_delete_while_resized(self) -> None:
        server = self.reserved()
        self.resize(server, 300)
        self._delete_server(server)
        self.assert_invariants()
        self.assert_nothing_left(*self.computes)

    @proof.proves(
        'Evacuation, and the return of the old host',
        'The new host holds the reservation. The old host releases its '
        'claim when the host returns.')
    def test_evacuate(self) -> None:
        server = self.reserved()
        lost = self.lose('host1')
        self.act(server, 'evacuate', {}, 'SHUTOFF')
        self.assert_held(server, host2=600)
        self.act(server, 'os-start', None, 'ACTIVE')
        self.assert_runs(server, 'host2', 600)
        self.come_back('host1', lost)
        self.assert_invariants()
        self.assert_held(server, host2=600)
        self.assertEqual([], self.alive('host1'))

    @proof.proves(
        'Evacuation without room',
        'The evacuation is refused, and no claim is held. A later evacuation'
        ' succeeds when there is room.')
    def test_evacuate_refused(self) -> None:
        server = self.reserved()
        other = self.reserved('host2', 600, vcpus=4)
        lost = self.lose('host1')
        self.refused(server, 'evacuate', {})
        self.assert_invariants('host2')
        self.assert_held(server)
        self._delete_server(other)
        self.act(server, 'evacuate', {}, 'ACTIVE')
        self.assert_runs(server, 'host2', 600)
        self.come_back('host1', lost)

    @proof.proves(
        'Unshelve to another host',
        'The other host holds the reservation.')
    def test_unshelve(self) -> None:
        self.flags(shelved_offload_time=0)
        server = self.reserved()
        self.act(server, 'shelve', None, 'SHELVED_OFFLOADED')
        self.assert_nothing_left(*self.computes)
        self.disable('host1')
        self.act(server, 'unshelve', None, 'ACTIVE')
        self.assert_runs(server, 'host2', 600)


def refuse(path: str, text: str) -> None:
    """A kernel that has no room for guests."""
    if '.libvirt-' in path and 'rt_' in path and text != '0':
        raise OSError(22, 'refused', path)


class ContainerTest(MoveTests, operations.TestCase):
    """The tests on a kernel that grants a runtime on every CPU."""


class MachineTest(MoveTests, operations.TestCase):
    """Virtual machines, on a kernel with a runtime for each CPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'
    VCPUS = 2


class RefusedTest(operations.TestCase):
    """The tests with real casts: no request waits for the end of a move."""

    CAST_AS_CALL = False

    @proof.proves(
        'Migration, the kernel refuses the budget',
        'The destination holds the reservation. A hard reboot starts the '
        'server there.')
    def test_refused_by_the_kernel(self) -> None:
        self.assert_recovers('migrate', None, 600)

    @proof.proves(
        'Resize, the kernel refuses the budget',
        'The destination holds the reservation. A hard reboot starts the '
        'server there.')
    def test_resize_refused_by_the_kernel(self) -> None:
        self.assert_recovers(
            'resize', {'flavorRef': self.flavor(300)}, 300)

    def assert_recovers(self, action: str, body: Any, share: int) -> None:
        server = self.reserved()
        self.kernel('host2').intercept = refuse
        self.api.post_server_action(server['id'], {action: body})
        self._wait_for_server_parameter(
            server, {'status': 'ERROR', 'OS-EXT-STS:task_state': None},
            wait_for_fault_key=False)
        # Nova reports the error before it cleans up.
        self._wait_for_assert(self.assert_invariants)
        self.assertEqual([], self.alive('host2'))
        # Whoever starts a guest ends it: events are left alone meanwhile.
        self.assertNotIn('is ended, because it would run',
                         self.stdlog.logger.output)
        self.kernel('host2').intercept = None
        self.act(server, 'reboot', {'type': 'HARD'}, 'ACTIVE')
        self.assert_runs(server, 'host2', share)


load_tests = seeds.load_of_the_day(__name__, 5, 'NOVA_RT_OPERATIONS')
