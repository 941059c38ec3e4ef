# SPDX-License-Identifier: Apache-2.0

"""An end of a live migration is lost while the guest is on its way."""

import re
import subprocess
import time

from tests.full import base as full_base
from tests.hosts import base

#: in which an operator looks at what is wrong, and does what helps
ROUNDS = 3


class KilledTestCase(base.HostsTestCase):

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(self.start_what_was_killed)
        self.server = self.reserved(base.EAST)

    def test_destination_before_the_guest_is_there(self):
        """Nobody could give it its reservation: it stays where it is."""
        before = self.claim(self.server)
        self.ask(self.server, base.WEST)
        # From here on QEMU is started there, which takes it much longer.
        while self.stored_status() != 'running':
            time.sleep(0.01)
        self.kill('nova-compute-west')
        self.eventually('it arrives', lambda: self.runs_on(
            base.WEST, self.server))
        self.eventually('it is given up', lambda: not self.runs_on(
            base.WEST, self.server))
        self.assertTrue(self.runs_on(base.EAST, self.server))
        self.start_what_was_killed()
        self.ended(self.server, 'cancelled', 'error', 'failed')
        self.forgive(self.server)
        self.assertEqual(before, self.claim(self.server))
        self.assert_runs(self.server, base.EAST)

    def test_destination_once_the_guest_is_there(self):
        self.begins_to_move(self.server)
        self.kill('nova-compute-west')
        self.moves_on(self.server, base.EAST)
        self.start_what_was_killed()
        self.ended(self.server, 'completed', 'error')
        self.forgive(self.server)
        self.eventually('Nova has it there',
                        lambda: self.where(self.server) == base.WEST)
        self.assert_runs(self.server, base.WEST)

    def test_source(self):
        """An operator ends the guest that Nova does not know of.

        Nova keeps the server's allocation at the destination, and that of
        the migration at the source.
        """
        self.begins_to_move(self.server)
        self.kill('nova-compute-east')
        self.moves_on(self.server, base.EAST)
        self.start_what_was_killed()
        with base.connected(base.WEST) as connection:
            arrived = connection.lookupByUUIDString(self.server.id)
            arrived.destroy()
            arrived.undefine()
        self.compute.reset_server_state(self.server, 'active')
        self.compute.reboot_server(self.server, 'HARD')
        self.eventually('it runs again', lambda: self.runs_on(
            base.EAST, self.server))
        self._active(self.server)
        for _ in range(ROUNDS):
            self.obey()
        self.assert_runs(self.server, base.EAST)

    def obey(self) -> None:
        """Runs the commands that the check recommends."""
        for remedy in re.findall('to do: run (.*)', full_base.differences()):
            for command in remedy.split(', then '):
                program, *arguments = command.split()
                said = subprocess.run(
                    [program, f'--config-file={self.settings.nova_conf}',
                     *arguments], env=self.settings.environment(), text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
                print(f'{command}: {said}')
