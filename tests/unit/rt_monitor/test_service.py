# SPDX-License-Identifier: Apache-2.0

import socket

from oslotest import base

from rt_monitor import service


class AddressTest(base.BaseTestCase):

    def test_sixth_version(self):
        if not socket.has_ipv6:
            self.skipTest('needs IPv6')
        options = service.ServiceOptions(address='::1', port=0)
        with (service.MetricsServer(options, None) as server,
              socket.create_connection(server.server_address[:2],
                                       timeout=30)):
            pass
