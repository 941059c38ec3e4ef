# SPDX-License-Identifier: Apache-2.0

"""Tests what options let hints do, and what becomes of hints."""

from collections.abc import Mapping
from typing import Any

from nova.tests.functional.api import client

from nova_rt.rules import reservation
from tests.functional import base
from tests.functional import operations
from tests import proof

HINTS = {base.HINT_RUNTIME: 20_000, base.HINT_PERIOD: 100_000}
PLAIN = 'a hint counts only on a flavor that has a reservation'


class DefaultTest(operations.TestCase):
    """An operator who has set nothing sells only what the flavors have."""

    TENANTS: Mapping[str, Any] = {}

    def assert_refused(self, words: str, flavor: str, hints: dict[str, Any]
                       ) -> None:
        error = self.assertRaises(
            client.OpenStackApiException, self.post, flavor, hints)
        self.assertEqual(400, error.response.status_code)
        self.assertIn(words, str(error))

    def resize(self, server: operations.Server, flavor: str) -> None:
        self.act(server, 'resize', {'flavorRef': flavor}, 'VERIFY_RESIZE')

    def confirm(self, server: operations.Server) -> None:
        self.act(server, 'confirmResize', None, 'ACTIVE')

    def test_create(self) -> None:
        plain = self.rt_flavor(None, None)
        self.assert_refused(PLAIN, plain, HINTS)
        self.assert_refused('in this cloud a hint may only lower the share',
                            self.flavor(100), HINTS)
        own = self.rt_flavor(None, None, **{
            reservation.HINT_SHARE_KEY.replace(':', '__'): '0.2'})
        self.assert_refused('above the share of 0.200000 that hints may', own,
                            HINTS | {base.HINT_RUNTIME: 20_001})
        for flavor in (own, self.flavor(200)):
            self.assertEqual(200, self.share(self.boot(flavor, HINTS)))
        self.assert_invariants()

    @proof.proves(
        'Resize of a server with hints to a flavor that accepts none',
        'The hints are dropped. A revert restores them.')
    def test_hints_are_left_behind(self) -> None:
        server = self.boot(self.flavor(400), HINTS)
        plain = self.rt_flavor(None, None)
        self.resize(server, plain)
        self.act(server, 'revertResize', None, 'ACTIVE')
        self.assertEqual(200, self.share(server))
        self.resize(server, plain)
        self.confirm(server)
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.confirm(server)
        self.assertIsNone(self.claim(server))
        self.assertEqual((0, 0), self.allocated(server))
        # The hints are gone for good.
        self.resize(server, self.flavor(300))
        self.confirm(server)
        self.assertEqual(300, self.share(server))
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.assertEqual(300, self.share(server))

    @proof.proves(
        'Resize of a server with hints to a smaller flavor',
        'If the hints ask for more than the flavor allows, the resize is '
        'refused with the reason.')
    def test_a_resize_is_checked(self) -> None:
        server = self.boot(self.flavor(400), HINTS)
        said = self.refused(
            server, 'resize', {'flavorRef': self.flavor(100)})
        self.assertIn('400', said)
        self.assertIn('in this cloud a hint may only lower the share', said)
        self.assertEqual('ACTIVE', self.api.get_server(
            server['id'])['status'])


class SchedulerTest(base.TestCase):
    """Without nova-api's middleware, nova-scheduler answers the same."""

    MIDDLEWARE = False
    TENANTS: Mapping[str, Any] = {}

    def test_plain_flavor(self) -> None:
        self.start_host()
        server = self.boot(self.rt_flavor(None, None), HINTS, 'ERROR')
        self.assertIn(PLAIN, self.fault(server))


class HalfTest(operations.TestCase):
    """Hints on all flavors."""

    def test_half_a_reservation_is_left_behind(self) -> None:
        server = self.boot(self.flavor(100), {base.HINT_RUNTIME: 20_000})
        self.act(server, 'resize', {
            'flavorRef': self.rt_flavor(None, None)}, 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assertIsNone(self.claim(server))
