# SPDX-License-Identifier: Apache-2.0

"""Tests the neighbours that nova-compute publishes and schedulers use."""

import json
from typing import Any

from nova_rt.rules import neighbours
from nova_rt.services.compute import neighbours as compute_neighbours
from tests.functional import operations
from tests.functional import test_live_migration
from tests import seeds

_WEIGHER = 'nova_rt.scheduler.weights.RTInterferenceWeigher'


class _Case(operations.TestCase):
    """The neighbours that two hosts publish."""

    def typed(self, name: str, *reserved: int, **specs: str) -> str:
        """The id of a flavor with a type."""
        return self.rt_flavor(*(reserved or (None, None)),
                              **{'hw__cpu.vnf_type': name}, **specs)

    def beside(self, host: str) -> dict[str, dict[str, int]]:
        found = dict(json.loads(self.stats(host)[neighbours.KEY]))
        self.assertEqual(neighbours.VERSION, found.pop('version'))
        return {kind: counts for kind, counts in found.items() if counts}

    def assert_beside(self, host1: Any = None, host2: Any = None) -> None:
        """Asserts the neighbours now, after audits, and after a restart."""
        for name, expected in (('host1', host1), ('host2', host2)):
            if name in self.computes:
                self.assertEqual(expected or {}, self.beside(name), name)
                self.audit(name)
                self.assertEqual(expected or {}, self.beside(name), name)


class PublishedTest(_Case):

    def test_moves(self) -> None:
        """Both ends count while a server is on its way."""
        one, two = {'shared': {'I': 1}}, {'shared': {'II': 1}}
        server = self.boot_on('host1', self.typed('I'))
        self.assert_beside(one)
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.assert_beside(one, one)
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_beside(None, one)
        # The new flavor counts where it will run, the old one where it ran.
        self.disable('host2')
        self.act(server, 'resize', {'flavorRef': self.typed(
            'II', 10_000, 100_000)}, 'VERIFY_RESIZE')
        self.assert_beside({'reserved': {'II': 1}}, one)
        self.act(server, 'revertResize', None, 'ACTIVE')
        self.assert_beside(None, one)
        self.flags(allow_resize_to_same_host=True)
        self._enable('host2')
        self.disable('host1')
        self.act(server, 'resize', {'flavorRef': self.typed('II')},
                 'VERIFY_RESIZE')
        self.assert_beside(None, two)
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_beside(None, two)
        self.act(server, 'shelve', None, 'SHELVED_OFFLOADED')
        self.assert_beside()

    def _enable(self, host: str) -> None:
        service = self.api.get_services(host=host, binary='nova-compute')[0]
        self.api.put_service(service['id'], {'status': 'enabled'})

    def test_hints_and_restarts_and_deletion(self) -> None:
        """The hint wins over the flavor, and lasts."""
        flavor = self.typed('I')
        self.disable('host2')
        noted = self.boot(flavor, {'cpu.vnf_type': 'dpi'})
        self.boot(flavor)
        self.boot(self.rt_flavor(None, None))
        found = {'shared': {'I': 1, 'dpi': 1}}
        self.assert_beside(found)
        self.assertEqual('dpi', self.instance(noted).system_metadata[
            compute_neighbours.HINT_KEY])
        self.restart_compute_service('host1')
        self.assert_beside(found)
        self._delete_server(noted)
        self.assert_beside({'shared': {'I': 1}})

    def test_evacuate(self) -> None:
        server = self.boot_on('host1', self.typed('I'))
        lost = self.lose('host1')
        self.act(server, 'evacuate', {}, 'SHUTOFF')
        self.assert_beside(host2={'shared': {'I': 1}})
        self.come_back('host1', lost)
        self.assert_beside(host2={'shared': {'I': 1}})


class LiveTest(test_live_migration.TestCase, _Case):

    def test_live_migration(self) -> None:
        seen = []

        def while_copying(incoming: Any) -> None:
            self.audit('host2')
            seen.append((self.beside('host1'), self.beside('host2')))
        self.libvirt.while_copying = while_copying
        for wanted, kind in (((), 'shared'), ((10_000, 100_000),
                                              'reserved')):
            server = self.boot_on('host1', self.typed('I', *wanted))
            self.migrate(server, 'completed')
            found = {kind: {'I': 1}}
            self.assertEqual((found, found), seen.pop())
            for name in ('host1', 'host2'):
                self.audit(name)
            self.assert_beside(None, found)
            self._delete_server(server)


class WeighedTest(_Case):
    """Only RTInterferenceWeigher decides: the two worst neighbours part."""

    WEIGHERS = (_WEIGHER,)

    def test_multi_create(self) -> None:
        """Each server of one request sees where the others went."""
        first = self.post(self.typed('II'), count=4)
        self._wait_for_state_change(first, 'ACTIVE')
        for server in self.api.get_servers():
            self._wait_for_state_change(server, 'ACTIVE')
        self.assert_beside({'shared': {'II': 2}}, {'shared': {'II': 2}})

    def test_two_schedulers(self) -> None:
        """Both schedulers remember nothing: the data of hosts are enough."""
        # Nova's tests have one; it is the queue they share.
        self._service_fixture_count['scheduler'] = 0
        self.start_service('scheduler', host='scheduler2')
        flavor = self.typed('IV')
        for _ in range(4):
            self.boot(flavor)
        self.assert_beside({'shared': {'IV': 2}}, {'shared': {'IV': 2}})


class BadFileTest(_Case):
    """A scheduler with a bad file starts and places servers."""

    WEIGHERS = (_WEIGHER,)

    def _configure(self) -> None:
        super()._configure()
        self.flags(interference_matrix='/nowhere', group='nova_rt')

    def test_nothing_is_weighed(self) -> None:
        self.boot(self.typed('II'))
        self.assertEqual(1, self.stdlog.logger.output.count(
            'RTInterferenceWeigher does not weigh hosts: /nowhere: the file: '
            'it cannot be read (No such file or directory)'))


load_tests = seeds.load_of_the_day(__name__, 4, 'NOVA_RT_OPERATIONS')
