# SPDX-License-Identifier: Apache-2.0

"""Tests ``nova-rt-manage hint``."""

import json
from typing import Any

from tests.functional import base
from tests.functional import test_manage


class HintTest(test_manage.ManageTestCase):
    """reserved() is a server whose hint of 20 ms wins over its flavor."""

    CAST_AS_CALL = True

    def hint(self, server: dict[str, Any], *argv: str) -> str:
        code, out = self.manage('hint', server['id'], *argv)
        self.assertEqual(0, code, out)
        return out

    def refused(self, words: str, uuid: str, *argv: str) -> None:
        code, out = self.manage('hint', uuid, *argv)
        self.assertEqual(2, code, out)
        self.assertIn(words, out)

    def migrate(self, server: dict[str, Any]) -> None:
        self.api.post_server_action(server['id'], {'migrate': None})
        self._wait_for_state_change(server, 'VERIFY_RESIZE')
        self.api.post_server_action(server['id'], {'confirmResize': None})
        self._wait_for_state_change(server, 'ACTIVE')

    def runtime(self, server: dict[str, Any]) -> int:
        claim = self.claim(server)
        assert claim is not None
        return claim.reservation.runtime_us

    def test_clear_and_set(self) -> None:
        server = self.reserved()
        self.assertIn('hints: cpu.rt_runtime_us=20000; holds: 20000 us every',
                      self.hint(server))
        self.assertEqual(
            {'server': server['id'], 'hints': {base.HINT_RUNTIME: 20_000},
             'holds': {'runtime_us': 20_000, 'period_us': 200_000},
             'next': {'runtime_us': 20_000, 'period_us': 200_000}},
            json.loads(self.hint(server, '-f', 'json')))
        self.assertIn('hints: none; holds: 20000 us every 200000 us (share '
                      '0.100); at its next resize, migration or unshelve '
                      'with this flavor: 100000 us every 200000 us',
                      self.hint(server, '--clear'))
        self.assertIn('claim.reservation', self.kinds())
        self.assertEqual(20_000, self.runtime(server))
        self.migrate(server)
        self.assertEqual(100_000, self.runtime(server))
        self.settle()
        self.assert_clean()
        self.hint(server, '--set', f'{base.HINT_RUNTIME}=30000',
                  '--set', f'{base.HINT_PERIOD}=100000')
        self.migrate(server)
        self.assertEqual((30_000, 100_000), self.budget(
            server, self.api.get_server(server['id'])[
                'OS-EXT-SRV-ATTR:host']))
        self.settle()
        self.assert_clean()

    def test_refused(self) -> None:
        server = self.reserved()
        uuid = server['id']
        self.refused('there is no such server', '0' * 36, '--clear')
        self.refused('it is more than the period of 200000', uuid,
                     '--set', f'{base.HINT_RUNTIME}=200001')
        self.refused('there is no such hint', uuid,
                     '--set', 'cpu.rt_budget=5')
        plain = self.boot(self.rt_flavor(None, None))
        self.refused('the server has no reservation now', plain['id'],
                     '--set', f'{base.HINT_RUNTIME}=1000',
                     '--set', f'{base.HINT_PERIOD}=2000')
        self.api.post_server_action(uuid, {'migrate': None})
        self._wait_for_state_change(server, 'VERIFY_RESIZE')
        self.refused('confirm or revert', uuid, '--clear')
        self.api.post_server_action(uuid, {'revertResize': None})
        self._wait_for_state_change(server, 'ACTIVE')
        instance = self.instance(server)
        instance.task_state = 'resize_prep'
        instance.save()
        self.refused('Nova is working on the server', uuid, '--clear')
        self.assertIn(f'hints: {base.HINT_RUNTIME}=20000',
                      self.hint(server))
