# SPDX-License-Identifier: Apache-2.0

"""A reservation moves with its server, or the move is refused."""

from typing import Any

import fixtures

from nova_rt import hostmap
from tests.functional import base


class MoveTest(base.TestCase):

    # The answer to a live migration is not to wait for its end.
    CAST_AS_CALL = False

    def setUp(self) -> None:
        super().setUp()
        for name in ('host1', 'host2'):
            self.start_host(name)

    def reserved(self) -> tuple[dict[str, Any], str, str]:
        """A server with 0.5 of a pCPU, its host and the other one."""
        server = self.boot(self.rt_flavor(100_000, 200_000),
                           {'cpu.rt_runtime_us': 120_000})
        source = server['OS-EXT-SRV-ATTR:host']
        return server, source, 'host2' if source == 'host1' else 'host1'

    def migrate(self, server: dict[str, Any]) -> None:
        def power_off(self: Any, context: Any, instance: Any, *args: Any,
                      **kwargs: Any) -> str:
            # There is no disk to move; Nova's own tests leave it out too.
            self._host.get_guest(instance).poweroff()
            return '{}'

        self.useFixture(fixtures.MonkeyPatch(
            'nova.virt.libvirt.driver.LibvirtDriver.'
            'migrate_disk_and_power_off', power_off))
        self._migrate_server(server)
        self._wait_for_state_change(server, 'VERIFY_RESIZE')

    def used(self, host: str) -> str:
        return self.stats(host)[hostmap.SHARE_USED]

    def test_cold_migration(self) -> None:
        server, source, target = self.reserved()
        self.migrate(server)
        # Held on both until it is confirmed; 0.6 on each of 4 pCPUs.
        self.assertEqual(('2.400', '2.400'),
                         (self.used(source), self.used(target)))
        self.assertEqual((120_000, 200_000), self.budget(server, target))
        self._confirm_resize(server)
        self.assertEqual(('0.000', '2.400'),
                         (self.used(source), self.used(target)))
        self.assertEqual({'cpu.rt_runtime_us': 120_000},
                         self.claim(server).hints)
        self._delete_server(server)
        # Nova tracks a server that has moved from the next audit on.
        self.audit(target)
        self.assert_nothing_left('host1', 'host2')

    def test_cold_migration_reverted(self) -> None:
        server, source, target = self.reserved()
        before = self.claim(server)
        self.migrate(server)
        self._revert_resize(server)
        self.assertEqual(('2.400', '0.000'),
                         (self.used(source), self.used(target)))
        self.assertEqual(before, self.claim(server))
        self.assertEqual((120_000, 200_000), self.budget(server, source))
        self._delete_server(server)
        self.audit(source)
        self.assert_nothing_left('host1', 'host2')

    def test_live_migration_is_refused(self) -> None:
        server, source, target = self.reserved()
        self._live_migrate(server, migration_expected_state='error',
                           server_expected_state='ACTIVE')
        self.assertEqual(source, self.api.get_server(
            server['id'])['OS-EXT-SRV-ATTR:host'])
        self.assertEqual(('2.400', '0.000'),
                         (self.used(source), self.used(target)))
        self.assertIn('cannot be migrated while it runs',
                      self.stdlog.logger.output)

    def test_rebuild_keeps_the_claim(self) -> None:
        server, source, _ = self.reserved()
        before = self.claim(server)
        self._rebuild_server(server, 'a2459075-d96c-40d5-893e-577ff92e721c')
        self.assertEqual(before, self.claim(server))
        self.assertEqual((120_000, 200_000), self.budget(server, source))
