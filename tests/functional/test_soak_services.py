# SPDX-License-Identifier: Apache-2.0

"""Random operations on Nova's own services: fewer, and all of it real.

``test_soak`` has the many.  NOVA_RT_SEED repeats a run, and
NOVA_RT_SOAK_SERVICES is how many there are.
"""

import os
import random
import sys
from typing import Any

from tests.functional import operations
from tests.functional import repairs
from tests import seeds

COUNT = int(os.environ.get('NOVA_RT_SOAK_SERVICES', '12'))
SHARES = (950, 475, 300, 190, 100)


class ServicesTest(operations.TestCase):
    """Six computes, half of them with a runtime for each CPU."""

    HOSTS = tuple(f'host{number}' for number in range(1, 7))
    SCHEDULERS = 3

    def setUp(self) -> None:
        self.seed = seeds.seed_of_the_day()
        self.rng = random.Random(self.seed)  # noqa: S311
        self.flags(allow_resize_to_same_host=True)
        super().setUp()
        self.flavors = {share: [self.flavor(share, vcpus) for vcpus in (1, 2)]
                        for share in SHARES}
        self.lost: dict[str, Any] = {}
        self.log: list[str] = []

    def _setup_scheduler_service(self) -> Any:
        first = super()._setup_scheduler_service()
        for number in range(1, self.SCHEDULERS):
            # Nova's tests have one; it is the queue they share.
            self._service_fixture_count['scheduler'] = 0
            self.start_service('scheduler', host=f'scheduler{number}')
        return first

    def start_host(self, name: str = 'host1') -> str:
        self.KERNEL = 'F2m' if int(name[4:]) % 2 else 'F1'
        return super().start_host(name)

    def servers(self, *states: str) -> list[dict[str, Any]]:
        """Returns the servers in one of *states* on hosts that are up."""
        return [server for server in self.api.get_servers()
                if server['status'] in states
                and server['OS-EXT-SRV-ATTR:host'] not in self.lost]

    def one(self, *states: str) -> dict[str, Any] | None:
        found = sorted(self.servers(*states), key=lambda each: each['id'])
        return self.rng.choice(found) if found else None

    def a_flavor(self) -> str:
        return self.rng.choice(self.flavors[self.rng.choice(SHARES)])

    def settled(self, server: dict[str, Any]) -> str:
        """The status at the end; a build has no task for a moment, too."""
        found: dict[str, Any] = {}

        def ended() -> bool:
            found.update(self.api.get_server(server['id']))
            return (found['OS-EXT-STS:task_state'] is None
                    and found['status'] != 'BUILD')

        self.until(ended, lambda: f'still under way: {found}')
        return str(found['status'])

    # Operations; nothing is done where there is no server for it.

    def create(self) -> None:
        server = self.post(self.a_flavor())
        if self.settled(server) == 'ERROR':
            self._delete_server(server)

    def remove(self) -> None:
        server = self.one('ACTIVE', 'SHUTOFF')
        if server:
            self._delete_server(server)

    def post_action(self, state: str, action: str, body: Any = None) -> None:
        server = self.one(state)
        if server and not self.refused(server, action, body):
            self.settled(server)

    def stop(self) -> None:
        self.post_action('ACTIVE', 'os-stop')

    def start(self) -> None:
        self.post_action('SHUTOFF', 'os-start')

    def reboot(self) -> None:
        self.post_action('ACTIVE', 'reboot', {'type': 'HARD'})

    def resize(self) -> None:
        self.post_action('ACTIVE', 'resize', {'flavorRef': self.a_flavor()})
        self.end_resize()

    def migrate(self) -> None:
        self.post_action('ACTIVE', 'migrate')
        self.end_resize()

    def end_resize(self) -> None:
        for server in self.servers('VERIFY_RESIZE'):
            self.assert_safe(*self.computes)
            action = self.rng.choice(('confirmResize', 'revertResize'))
            self.refused(server, action)
            self.settled(server)

    def restart(self) -> None:
        self.restart_compute_service(self.rng.choice(sorted(self.computes)))

    def evacuate(self) -> None:
        name = self.rng.choice(sorted(self.computes))
        servers = [server for server in self.servers('ACTIVE', 'SHUTOFF')
                   if server['OS-EXT-SRV-ATTR:host'] == name]
        self.lost[name] = lost = self.lose(name)
        for server in servers:
            self.refused(server, 'evacuate', {})
            self.settled(server)
        self.assert_safe(*self.computes)
        del self.lost[name]
        self.come_back(name, lost)

    def test_soak(self) -> None:
        kinds = {self.create: 12, self.remove: 6, self.stop: 3,
                 self.start: 3, self.reboot: 3, self.resize: 6,
                 self.migrate: 5, self.restart: 2, self.evacuate: 1}
        for action in self.rng.choices(
                list(kinds), list(kinds.values()), k=COUNT):
            self.log.append(action.__name__)
            try:
                action()
                self.assert_invariants(*self.computes)
            except Exception as error:
                error.add_note(f'NOVA_RT_SEED={self.seed} after {self.log}')
                raise
        operator = self.useFixture(repairs.Operator(self))
        self.assertEqual(0, operator.heal(), 'nova-rt-manage differs')
        self.assert_nothing_remains()
        self.assertEqual(0, operator.heal(), 'nova-rt-manage differs')
        print(f'NOVA_RT_SEED={self.seed}: {COUNT} operations on services',
              file=sys.__stderr__, flush=True)
