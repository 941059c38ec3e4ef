# SPDX-License-Identifier: Apache-2.0

"""Nova's audit at the seams of changes while the server runs."""

from collections.abc import Callable

from rt_operate.manage import hints
from rt_operate.manage import reserve
from tests.functional import audits
from tests.functional import base
from tests.functional import operations
from tests import proof


class ChangeAuditTest(audits.Audits, operations.TestCase):
    """Virtual machines, on a kernel with a runtime for each CPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'

    def setUp(self) -> None:
        super().setUp()
        # Nova uses the name of its host to tell whether a server stayed.
        self.flags(host='host1')

    @proof.proves(
        'Audit, or start of nova-compute, at any step of a resize to a '
        'flavor that differs only in the reservation',
        'The claims are kept, and the guest runs on with one of the '
        'two reservations.')
    def test_in_place(self) -> None:
        for end in ('revertResize', 'confirmResize'):
            server = self.boot_on('host1', self.small)
            pid = self.domain(server).rt_pid
            self.changes('resize', server, lambda server: (
                self.api.post_server_action(server['id'], {'resize': {
                    'flavorRef': self.twin(600, 300)}})))
            self._wait_for_state_change(server, 'VERIFY_RESIZE')
            self.changes(end, server, lambda server, end=end: (
                self.api.post_server_action(server['id'], {end: None})))
            self._wait_for_state_change(server, 'ACTIVE')
            self.assertEqual(pid, self.domain(server).rt_pid)
            self.ends(server)

    def test_reserve(self) -> None:
        """The whole change happens under the lock; an audit waits for it."""
        self.share = 1.0
        server = self.boot_on('host1', self.small)
        self.changes('reserve', server, lambda server: reserve.change(
            hints.server(server['id']), {base.HINT_RUNTIME: 60_000}))
        self.assertEqual(0, self.audits)
        self.assertTrue(self.killer.seams)
        self.assert_runs(server, 'host1', 600)
        self.ends(server)

    def changes(self, name: str, server: operations.Server,
                run: Callable[[operations.Server], object]) -> None:
        """The operation may change the budget, but an audit may not."""
        with self.audited(name):
            run(server)
            self.killer.wait()
