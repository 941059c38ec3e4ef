# SPDX-License-Identifier: Apache-2.0

"""A server keeps its reservation when it is evacuated from a host."""

import contextlib

from tempest.common import waiters
from tempest import config
from tempest.lib import decorators
from tempest.lib import exceptions

from nova_rt_tempest_plugin.tests.scenario import base

CONF = config.CONF


# The other tests need the host.
@decorators.serial
class EvacuateTest(base.ReservationTest):

    # Newer versions do not force services down by name.
    max_microversion = '2.52'

    @classmethod
    def skip_checks(cls) -> None:
        super().skip_checks()
        if not CONF.nova_rt.evacuation:
            raise cls.skipException('No host of this cloud may be forced '
                                    'down: [nova_rt] evacuation.')
        if CONF.compute.min_compute_nodes < 2:
            raise cls.skipException('This cloud has no two similar hosts: '
                                    '[compute] min_compute_nodes.')

    @decorators.idempotent_id('35dc9636-1c5e-4c18-9508-0037ba8a709e')
    def test_evacuate(self) -> None:
        server = self.server(self.rt_flavor(CONF.nova_rt.runtime_us))
        host = self.get_host_for_server(server)
        self._force(host, down=True)
        self.addCleanup(self._take_back, host)
        self.admin_servers_client.evacuate_server(server)
        waiters.wait_for_server_status(self.servers_client, server, 'ACTIVE')
        self.assertNotEqual(host, self.get_host_for_server(server))
        # The first host keeps its part until nova-compute is back there.
        self.assert_reserved(
            server, base.bandwidth(CONF.nova_rt.runtime_us), hosts=2)

    def _take_back(self, host: str) -> None:
        """Enables the host; nova-compute may have to be restarted first."""
        with contextlib.suppress(exceptions.BadRequest):
            self._force(host, down=False)

    def _force(self, host: str, down: bool) -> None:
        self.os_admin.services_client.update_forced_down(
            host=host, binary='nova-compute', forced_down=down)
