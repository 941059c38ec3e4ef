# SPDX-License-Identifier: Apache-2.0

"""A server keeps its reservation when it migrates live."""

from tempest.common import waiters
from tempest import config
from tempest.lib import decorators

from nova_rt_tempest_plugin.tests.scenario import base

CONF = config.CONF


class LiveMigrationTest(base.ReservationTest):

    @classmethod
    def skip_checks(cls) -> None:
        super().skip_checks()
        if not CONF.compute_feature_enabled.live_migration:
            raise cls.skipException('This cloud does not migrate running '
                                    'servers.')
        if CONF.compute.min_compute_nodes < 2:
            raise cls.skipException('This cloud has no two similar hosts: '
                                    '[compute] min_compute_nodes.')

    @decorators.idempotent_id('0b8f6f0e-3d1c-4a57-9c58-5a5ad2f1c6d4')
    def test_there_and_back(self) -> None:
        server = self.server(self.rt_flavor(CONF.nova_rt.runtime_us))
        first = self.get_host_for_server(server)
        self._migrate(server)
        self.assertNotEqual(first, self.get_host_for_server(server))
        self._migrate(server, first)
        self.assertEqual(first, self.get_host_for_server(server))

    def _migrate(self, server: str, host: str | None = None) -> None:
        self.admin_servers_client.live_migrate_server(
            server, host=host, block_migration='auto')
        waiters.wait_for_server_status(self.servers_client, server, 'ACTIVE')
        self.assert_reserved(server, base.bandwidth(CONF.nova_rt.runtime_us))
