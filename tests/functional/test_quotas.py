# SPDX-License-Identifier: Apache-2.0

"""Unified limits count each reservation, also those of requests at once.

NOVA_RT_QUOTA is how many requests there are at once, and how many of the
servers the limit admits: "200/37".
"""

from collections.abc import Mapping
import os
import threading
from typing import Any, ClassVar

import fixtures
from nova.tests.functional.api import client
from oslo_limit import fixture as limit_fixture

from nova_rt.rules import hostmap
from tests.functional import operations
from tests.functional import test_tenant
from tests import proof
from tests import seeds

AT_ONCE, ADMITTED = map(int, os.environ.get(
    'NOVA_RT_QUOTA', '12/4').split('/'))
PPM = 50_000
BANDWIDTH, SHARE = (f'class:{name}' for name in hostmap.CLASSES)


class QuotaCase(test_tenant.TenantCase):
    """A cloud with unified limits; flavors name no resource class."""

    LIMITS: ClassVar[Mapping[str, int]] = {BANDWIDTH: 900_000, SHARE: -1}

    def setUp(self) -> None:
        super().setUp()
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')
        limits = self.useFixture(limit_fixture.LimitFixture({
            'servers': 999, 'class:VCPU': 999, 'class:MEMORY_MB': 999_999,
            'class:DISK_GB': 9999, 'server_groups': 9,
            'server_metadata_items': 9, 'server_injected_files': 9,
            'server_injected_file_content_bytes': 9999,
            'server_injected_file_path_bytes': 255, **self.LIMITS}, {}))
        self.useFixture(fixtures.MonkeyPatch(
            'nova.limit.utils._identity_client', lambda: limits.mock_conn))

    def refused_for(self, resource: str, call: Any, *args: Any,
                    **kwargs: Any) -> str:
        """Returns the message to the tenant with status 403."""
        error = self.assertRaises(
            client.OpenStackApiException, call, *args, **kwargs)
        self.assertEqual(403, error.response.status_code)
        text = str(error.response.json()['forbidden']['message'])
        self.assertIn(resource, text)
        for host in self.HOSTS:
            self.assertNotIn(host, text)
        return text


class StormTest(QuotaCase):
    """Requests at the same moment."""

    CAST_AS_CALL = False
    LIMITS: ClassVar[Mapping[str, int]] = {
        BANDWIDTH: ADMITTED * PPM + PPM // 2, SHARE: -1}

    def settle(self, servers: list[operations.Server]) -> None:
        for server in servers:
            self._wait_for_state_change(server, 'ACTIVE')

    def at_once(self, bodies: list[dict[str, Any]]
                ) -> tuple[list[operations.Server], list[int]]:
        """The servers that were accepted, and the status of the others."""
        start = threading.Barrier(len(bodies))
        servers: list[operations.Server] = []
        refused: list[int] = []

        def create(body: dict[str, Any]) -> None:
            start.wait()
            try:
                servers.append(self.api.post_server(body))
            except client.OpenStackApiException as error:
                refused.append(error.response.status_code)

        threads = [threading.Thread(target=create, args=(body,))
                   for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return servers, refused

    def check_storm(self, bodies: list[dict[str, Any]]) -> None:
        servers, refused = self.at_once(bodies)
        self.assertEqual([403] * (len(bodies) - ADMITTED), refused)
        self.assertEqual(ADMITTED, len(servers))
        self.settle(servers)
        self.assertEqual(ADMITTED * PPM, sum(
            self.usage(host)[0] for host in self.HOSTS))
        # A refused request leaves nothing: no server, and nothing counted.
        self.assertEqual(ADMITTED, len(self.api.get_servers(detail=False)))

    def test_by_flavor(self) -> None:
        flavor = self.flavor(PPM // 1000)
        self.check_storm([self.request(flavor) for _ in range(AT_ONCE)])

    def test_by_hint(self) -> None:
        flavor = self.rt_flavor(None, None)
        hints = {'cpu.rt_runtime_us': PPM // 10, 'cpu.rt_period_us': 100_000}
        self.check_storm([self.request(flavor, hints)
                          for _ in range(AT_ONCE)])

    def test_several_servers_of_one_request(self) -> None:
        """All of a request, or none: never a part, never too many."""
        flavor = self.flavor(PPM // 1000)
        admitted, more = ADMITTED // 3, 5
        _servers, refused = self.at_once([
            self.request(flavor, count=3) for _ in range(admitted + more)])
        self.assertEqual([403] * more, refused)
        found = self.api.get_servers(detail=False)
        self.assertEqual(3 * admitted, len(found))
        self.settle(found)


class QuotaTest(QuotaCase):
    """One request after the other."""

    @proof.proves(
        'Unified limits on the bandwidth of flavors and hints',
        'A request for more than the limit is refused with status 403, and '
        'leaves nothing.')
    def test_a_hint_counts(self) -> None:
        flavor = self.flavor(100)
        self.boot(flavor, {'cpu.rt_runtime_us': 50_000})
        text = self.refused_for(
            BANDWIDTH, self.post, flavor, {'cpu.rt_runtime_us': 50_000})
        self.assertEqual(
            'Quota exceeded for class:CUSTOM_RT_BANDWIDTH: the request needs '
            '500000, and the project uses 500000 of its limit of 900000 (ppm '
            'of a pCPU). Ask for less, delete servers, or ask your operator '
            'for a higher limit.', text)
        self.boot(flavor, {'cpu.rt_runtime_us': 40_000})
        self.assert_invariants()

    def test_as_many_as_fit(self) -> None:
        """Nova creates as many servers as the limit admits."""
        body = self.request(self.flavor(200))
        body['server'] |= {'min_count': 2, 'max_count': 9}
        self.api.post_server(body)
        found = self.api.get_servers(detail=False)
        self.assertEqual(4, len(found))
        for server in found:
            self._wait_for_state_change(server, 'ACTIVE')
        body['server']['min_count'] = 1
        self.refused_for(BANDWIDTH, self.api.post_server, body)

    def test_the_sum_over_the_vcpus(self) -> None:
        self.refused_for(BANDWIDTH, self.post, self.flavor(310, vcpus=3))
        self.boot(self.flavor(300, vcpus=3))

    def test_a_resize(self) -> None:
        """Until the confirmation, both flavors count, as in Nova."""
        server = self.boot(self.flavor(300))
        resize = {'resize': {'flavorRef': self.flavor(650)}}
        self.refused_for(BANDWIDTH, self.api.post_server_action,
                         server['id'], resize)
        resize['resize']['flavorRef'] = self.flavor(600)
        self.act(server, 'resize', resize['resize'], 'VERIFY_RESIZE')
        self.refused_for(BANDWIDTH, self.post, self.flavor(10))
        self.act(server, 'confirmResize', status='ACTIVE')
        self.boot(self.flavor(300))
        self.refused_for(BANDWIDTH, self.post, self.flavor(10))

    def test_a_resize_that_fails_counts_no_more(self) -> None:
        server = self.boot(self.flavor(300))
        for host in self.HOSTS:
            self._status(host, 'disabled')
        # The cast is a call in these tests, so that its error is an answer.
        self.assertIn('NoValidHost', self.refused(
            server, 'resize', {'flavorRef': self.flavor(600)}))
        for host in self.HOSTS:
            self._status(host, 'enabled')
        self.boot(self.flavor(600))

    def test_an_unshelved_server_counts_again(self) -> None:
        server = self.boot(self.flavor(600))
        self.api.post_server_action(server['id'], {'shelve': None})
        self._wait_for_state_change(server, 'SHELVED_OFFLOADED')
        other = self.boot(self.flavor(600))
        self.refused_for(BANDWIDTH, self.api.post_server_action,
                         server['id'], {'unshelve': None})
        self._delete_server(other)
        self.api.post_server_action(server['id'], {'unshelve': None})
        self._wait_for_state_change(server, 'ACTIVE')
        self.refused_for(BANDWIDTH, self.post, self.flavor(310))

    def test_a_rebuild_counts_nothing(self) -> None:
        server = self.boot(self.flavor(600))
        self.act(server, 'rebuild', {'imageRef': operations.IMAGE}, 'ACTIVE')
        self.boot(self.flavor(300))

    def test_the_limit_of_another_project(self) -> None:
        self.boot(self.flavor(600))
        self.api = self.member('other')
        self.boot(self.flavor(600))

    def _status(self, host: str, status: str) -> None:
        service = self.admin.get_services(
            host=host, binary='nova-compute')[0]
        self.admin.put_service(service['id'], {'status': status})


class ShareTest(QuotaCase):
    """The second class, and a class without a limit."""

    LIMITS: ClassVar[Mapping[str, int]] = {SHARE: 500_000}

    def test_the_share_of_one_vcpu(self) -> None:
        """A limit that is not registered limits nothing, as in Nova."""
        self.boot(self.flavor(300, vcpus=2))
        self.refused_for(SHARE, self.post, self.flavor(300))


class NoLimitsTest(test_tenant.TenantCase):
    """Without unified limits, nothing is counted or locked."""

    def test_nothing_is_counted(self) -> None:
        self.boot(self.flavor(600))
        self.boot(self.flavor(600))


load_tests = seeds.load_of_the_day(__name__, 7, 'NOVA_RT_OPERATIONS')
