# SPDX-License-Identifier: Apache-2.0

"""Hosts without nova-rt, and with other versions of it, side by side.

The rules are those of doc/source/admin/upgrade.rst.
"""

import fixtures

from nova_rt.rules import hostmap
from tests.functional import operations
from tests.functional import test_operator


class SideBySideTest(operations.TestCase):

    HOSTS = ('host1', 'host2')

    def fault(self, flavor: str, host: str | None = None) -> str:
        """Returns the fault of a server that no host takes."""
        server = (self.boot_on(host, flavor, 'ERROR') if host
                  else self.boot(flavor, status='ERROR'))
        found = self.api.get_server(server['id'])['fault']['message']
        self._delete_server(server)
        return str(found)

    def audit_of_newer(self, host: str) -> None:
        """Audits a nova-compute that publishes a map of a newer meaning."""
        with fixtures.MonkeyPatch('nova_rt.rules.hostmap.VERSION',
                                  hostmap.VERSION + 1):
            self.audit(host)

    def test_a_host_without_the_plugin(self) -> None:
        self.flags(compute_driver=test_operator.PLAIN)
        plain = self.start_host('host3')
        self.computes.pop(plain)
        flavor = self.flavor(600)
        self.assertEqual({'host1', 'host2'}, {
            self.host_of(self.boot(flavor)) for _ in range(2)})
        self.assertIn('No valid host', self.fault(flavor))
        self.assertIn('No valid host', self.fault(flavor, plain))
        other = self.boot_on(plain, self.rt_flavor(None, None))
        self.assertEqual(plain, self.host_of(other))
        self.assert_invariants()

    def test_map_of_a_newer_version(self) -> None:
        self.audit_of_newer('host2')
        flavor = self.flavor(600)
        self.assertEqual('host1', self.host_of(self.boot(flavor)))
        self.assertNotIn('host2', self.fault(flavor))
        self.assertIn('host2 publishes no map of version 1',
                      self.stdlog.logger.output)
        plain = self.boot_on('host2', self.rt_flavor(None, None))
        self._delete_server(plain)
        self.audit('host2')
        self.assertEqual('host2', self.host_of(self.boot(flavor)))
        self.assert_invariants()


class NewerClaimTest(test_operator.TestCase):

    HOSTS = ('host1', 'host2')

    def test_move_to_an_older_host(self) -> None:
        server = self.reserved('host1')
        good = self.claimed(server).identifier
        granted = self.kernel('host1').granted()
        self.rewrite(server, f'2:{good}')
        self.refused(server, 'migrate')
        # No other host: for Nova it is an error, the guest runs on.
        self._wait_for_state_change(server, 'ERROR')
        self.api.post_server_action(
            server['id'], {'os-resetState': {'state': 'active'}})
        self.assertEqual(granted, self.kernel('host1').granted())
        self.assertEqual({}, self.kernel('host2').granted())
        self.assertIn("Cannot read the claim '2:",
                      self.stdlog.logger.output)
        self.rewrite(server, good)
        self.audit('host1')
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_runs(server, 'host2', 600)
