# SPDX-License-Identifier: Apache-2.0

"""Tests two cells, and a resize from one cell to the other."""

from typing import Any

import fixtures
from nova import context as nova_context
from nova.policies import base as base_policies
from nova.policies import servers as servers_policies
from nova.tests.functional.api import client

from nova_rt.services.compute import claims
from nova_rt.services.compute import request
from nova_rt.services import servers
from tests.functional import base
from tests import proof

CELLS = {'host1': 'cell1', 'host2': 'cell2'}


class TestCase(base.TestCase):
    """A host in each cell; Nova's fixture changes between the databases."""

    NUMBER_OF_CELLS = 2
    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'
    TENANTS: dict[str, Any] = {}

    def setUp(self) -> None:
        super().setUp()
        for name, cell in CELLS.items():
            self.start_host(name, cell)

    def _one_cell(self) -> None:
        """There are two."""

    def stored(self, server: dict[str, Any]) -> Any:
        return servers.find(nova_context.get_admin_context(), server['id'])

    def claim(self, server: dict[str, Any]) -> claims.RTClaim | None:
        return claims.instance_claim(self.stored(server))

    def host_of(self, server: dict[str, Any]) -> str:
        return str(self.api.get_server(server['id'])[
            'OS-EXT-SRV-ATTR:host'])

    def audit(self, host: str = 'host1') -> None:
        with nova_context.target_cell(
                nova_context.get_admin_context(),
                self.cell_mappings[CELLS[host]]) as context:
            self.computes[host].manager.update_available_resource(context)

    def runtimes(self, host: str) -> list[int]:
        """Returns the runtimes that are claimed there, after an audit."""
        self.audit(host)
        return [claim.reservation.runtime_us for claim
                in self.computes[host].manager.rt.rt_claims()]

    def assert_nothing_remains(self) -> None:
        """Checks after the last server is deleted."""
        for server in self.api.get_servers(detail=False):
            self._delete_server(server)
        for host in CELLS:
            self.assert_empty(host)

    def granted_runtimes(self, host: str) -> list[int]:
        """Returns the runtimes of vCPUs in the kernel."""
        return [runtime for group, lanes in self.kernel_budgets(host).items()
                if '/vcpu' in group for runtime, _ in lanes.values()]

    def assert_empty(self, host: str) -> None:
        self.assertEqual([], self.runtimes(host))
        self.assertEqual((0, 0), self.usage(host))
        self.assertEqual({}, self.kernel_budgets(host))


class FullTest(TestCase):

    @proof.proves(
        'Two full cells',
        'Each host takes the servers that fit. One more server finds no '
        'host.')
    def test_each_cell_is_filled(self) -> None:
        flavor = self.rt_flavor(60_000, 100_000, vcpus=4)
        booted = [self.boot(flavor) for _ in CELLS]
        self.assertEqual(set(CELLS), set(map(self.host_of, booted)))
        last = self.boot(flavor, status='ERROR')
        self.assertIn('No valid host', self.fault(last))


class CrossCellTest(TestCase):
    """Nova stops a server in one cell, and spawns its image in the other."""

    def setUp(self) -> None:
        super().setUp()
        self.policy.set_rules({servers_policies.CROSS_CELL_RESIZE:
                               base_policies.RULE_ADMIN_API}, overwrite=False)
        self.useFixture(fixtures.MonkeyPatch(
            'nova.virt.libvirt.driver.LibvirtDriver.snapshot',
            lambda driver, context, instance, image, update: None))
        self.server = self.boot(self.rt_flavor(30_000, 100_000),
                                {base.HINT_RUNTIME: 20_000})
        self.source = self.host_of(self.server)
        self.target, = CELLS.keys() - {self.source}

    def act(self, action: str, body: Any, status: str) -> None:
        self.api.post_server_action(self.server['id'], {action: body})
        self._wait_for_state_change(self.server, status)

    def resize(self, flavor: str) -> None:
        self.act('resize', {'flavorRef': flavor}, 'VERIFY_RESIZE')
        self.assertEqual(self.target, self.host_of(self.server))
        self.assertEqual([20_000], self.runtimes(self.source))

    @proof.proves(
        'Cross-cell resize',
        'The server holds a claim in the other cell, and the old claim '
        'until the resize is confirmed.')
    def test_confirmed(self) -> None:
        self.resize(self.rt_flavor(40_000, 100_000, vcpus=2))
        self.assertEqual([20_000], self.runtimes(self.target))
        self.assertEqual([20_000] * 2, self.granted_runtimes(self.target))
        self.act('confirmResize', None, 'ACTIVE')
        self.assert_empty(self.source)
        self.assertEqual([20_000], self.runtimes(self.target))
        self.assertEqual((400_000, 200_000), self.usage(self.target))

    @proof.proves(
        'Upgrade to stricter rules, then cross-cell migration',
        'The migration works as before.')
    def test_admitted_by_older_rules(self) -> None:
        self.flags(max_share=0.1, group='nova_rt')
        self.assertRaises(client.OpenStackApiException, self.rt_flavor,
                          20_000, 100_000)
        self.act('migrate', None, 'VERIFY_RESIZE')
        self.assertEqual(self.target, self.host_of(self.server))
        self.act('confirmResize', None, 'ACTIVE')
        self.assert_empty(self.source)
        self.assertEqual([20_000], self.runtimes(self.target))

    @proof.proves(
        'Cross-cell resize: revert',
        'The server has its old claim, and the other cell keeps nothing.')
    def test_reverted(self) -> None:
        self.resize(self.rt_flavor(40_000, 100_000, vcpus=2))
        self.act('revertResize', None, 'ACTIVE')
        self.assert_empty(self.target)
        self.assertEqual([20_000], self.runtimes(self.source))
        self.assertEqual([20_000], self.granted_runtimes(self.source))

    @proof.proves(
        'Cross-cell resize to a flavor without a reservation',
        'The hints of the server are dropped.')
    def test_hints_are_left_behind(self) -> None:
        self.resize(self.rt_flavor(None, None))
        self.assertEqual([], self.runtimes(self.target))
        self.act('confirmResize', None, 'ACTIVE')
        for host in CELLS:
            self.assert_empty(host)
        self.assertEqual({}, request.hints_of(self.stored(self.server)))
        self.act('reboot', {'type': 'HARD'}, 'ACTIVE')
