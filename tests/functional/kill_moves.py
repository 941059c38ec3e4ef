# SPDX-License-Identifier: Apache-2.0

"""nova-compute is killed at each step of a move.

After most killed moves, Nova needs an operator: the operator's actions are
part of the tests.
"""

import contextlib

from nova_rt.rules import exception
from rt_operate.manage import hints
from rt_operate.manage import reserve
from tests.functional import base
from tests.functional import kill_matrix

Operation = kill_matrix.Operation
Server = kill_matrix.Server


class MoveKillTests(kill_matrix.KillTests):
    """Operations that take a server to another host."""

    def test_resize(self) -> None:
        self.matrix(Operation(
            'resize', lambda: self.boot_here(self.small),
            self.action('resize', {'flavorRef': self.large})))

    def test_migrate(self) -> None:
        self.matrix(Operation(
            'migrate', lambda: self.boot_here(self.large),
            self.action('migrate')))

    def test_revert(self) -> None:
        self.matrix(Operation(
            'revert', lambda: self.moved('resize',
                                         {'flavorRef': self.large}),
            self.action('revertResize')))

    def in_place(self, server: Server) -> None:
        self.action('resize', {'flavorRef': self.twin(600, 300)})(server)

    def test_in_place(self) -> None:
        self.matrix(Operation(
            'in place', lambda: self.boot_here(self.small), self.in_place))

    def stayed(self) -> Server:
        server = self.boot_here(self.small)
        self.in_place(server)
        self.killer.wait()
        return dict(self._wait_for_state_change(server, 'VERIFY_RESIZE'))

    def test_revert_in_place(self) -> None:
        self.matrix(Operation('revert in place', self.stayed,
                              self.action('revertResize')))

    def reserve(self, server: Server) -> None:
        with contextlib.suppress(exception.CannotChangeReservation):
            reserve.change(hints.server(server['id']),
                           {base.HINT_RUNTIME: 60_000})

    def test_reserve(self) -> None:
        self.matrix(Operation(
            'reserve', lambda: self.boot_here(self.small), self.reserve))

    def lost_host(self) -> Server:
        if not self.replicated('host2'):
            # The destination chooses other pCPUs.
            self.boot_on('host2', self.flavor(100))
        # Nova keeps the allocation of a killed evacuation in Placement, so one
        # more must fit.
        server = self.boot_here(self.small)
        self.lost = self.lose('host1')
        return server

    def returns(self) -> None:
        """Brings the lost host back; Nova cleans up there."""
        self.come_back('host1', self.lost)
        self.lost = None
        for host in self.computes:
            self.audit(host)
        self.check()

    def evacuate_again(self) -> None:
        for server in self.api.get_servers():
            if server['OS-EXT-SRV-ATTR:host'] == 'host1':
                self.forget(server)
                self.refused(server, 'os-resetState', {'state': 'error'})
                self.assertEqual('', self.refused(server, 'evacuate', {}))
                self.killer.wait()
                self.assertEqual('host2', self.host_of(server))
        self.returns()

    def forget(self, server: Server) -> None:
        """Ends the guest: Nova would refuse to evacuate the server again."""
        self.end(server, 'host2')
        self.audit('host2')

    def test_evacuate(self) -> None:
        self.matrix(Operation(
            'evacuate', self.lost_host, self.action('evacuate', {}),
            self.evacuate_again))
