# SPDX-License-Identifier: Apache-2.0

"""Servers of which only some vCPUs have a reservation."""

from typing import Any

import fixtures
from lxml import etree
from nova.tests.functional.api import client

from nova_rt.rules import reservation
from tests.functional import operations
from tests.functional import test_deadline
from tests.functional import test_live_migration
from tests import seeds


class _Case(operations.TestCase):
    """A mixin: each host has 4 pCPUs."""

    def masked(self, share: int, mask: str | None = '^0', vcpus: int = 4
               ) -> str:
        """A flavor with thousandths of a pCPU for some of its vCPUs."""
        extra = {reservation.MASK_KEY: mask} if mask else {}
        return self.rt_flavor(share * 100, 100_000, vcpus, **extra)

    def assert_masked(self, server: operations.Server, host: str, share: int,
                      unreserved: tuple[int, ...] = (0,)) -> None:
        claim = self.stored(host)[server['id']]
        self.assertEqual(unreserved, claim.unreserved)
        self.assertEqual(4, len(claim.places))
        count = 4 - len(unreserved)
        self.assertEqual((share * 1000 * count, share * 1000),
                         self.usage(host))
        self.assertEqual(
            {str(vcpu): str(cpu) for vcpu, cpu in claim.by_vcpu.items()},
            {pin.get('vcpu'): pin.get('cpuset')
             for pin in self.pins_of(server, host)
             if int(pin.get('vcpu')) in claim.by_vcpu})
        self.assert_invariants()

    def pins_of(self, server: operations.Server, host: str) -> Any:
        return etree.fromstring(self.domain(server, host).XMLDesc(0)
                                ).findall('cputune/vcpupin')


class GroupMaskTest(_Case):
    """The tests on a kernel with a budget for the group of each vCPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'
    HOSTS = ('host1', 'host2')

    def test_three_of_four(self) -> None:
        server = self.boot_on('host1', self.masked(300))
        self.assert_masked(server, 'host1', 300)
        text = self.claimed(server).identifier
        self.assertIn(';c=-,', text)
        self.act(server, 'reboot', {'type': 'HARD'}, 'ACTIVE')
        self.assertEqual(text, self.claimed(server).identifier)
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_masked(server, 'host2', 300)
        self.assert_nothing_remains()

    def test_resize_between_masks(self) -> None:
        server = self.boot_on('host1', self.masked(300))
        for mask, unreserved in (('0-1', (2, 3)), (None, ()), ('^0', (0,))):
            self.act(server, 'resize', {'flavorRef': self.masked(200, mask)},
                     'VERIFY_RESIZE')
            self.act(server, 'confirmResize', None, 'ACTIVE')
            self.assert_masked(server, self.host_of(server), 200, unreserved)
        self.act(server, 'resize', {'flavorRef': self.masked(100, '3')},
                 'VERIFY_RESIZE')
        self.act(server, 'revertResize', None, 'ACTIVE')
        self.assert_masked(server, self.host_of(server), 200)

    def test_two_fit_where_two_without_a_mask_would_not(self) -> None:
        """3 x 0.6 and 1 x 0.6 are on 4 pCPUs."""
        self.boot_on('host1', self.masked(600))
        self.boot_on('host1', self.masked(600, '3'))
        self.assert_invariants()
        self.boot_on('host1', self.masked(600, '3'), 'ERROR')
        self.assert_invariants()

    def test_evacuated_and_unshelved(self) -> None:
        server = self.boot_on('host1', self.masked(300))
        self.act(server, 'shelve', None, 'SHELVED_OFFLOADED')
        self.act(server, 'unshelve', None, 'ACTIVE')
        host = self.host_of(server)
        self.assert_masked(server, host, 300)
        lost = self.lose(host)
        self.act(server, 'evacuate', {}, 'SHUTOFF')
        self.act(server, 'os-start', None, 'ACTIVE')
        self.assert_masked(server, self.host_of(server), 300)
        self.come_back(host, lost)

    def test_only_hosts_that_take_masks(self) -> None:
        """No server lands where an older version refuses it for ever."""
        with fixtures.MonkeyPatch(
                'nova_rt.services.compute.capacity._supported_needs',
                lambda *_: frozenset()):
            self.audit('host1')
        for _ in range(2):
            server = self.boot(self.masked(300))
            self.assertEqual('host2', self.host_of(server))
        plain = self.boot_on('host1', self.flavor(300))
        self.assertEqual('host1', self.host_of(plain))
        self.boot_on('host1', self.masked(300), 'ERROR')
        self.audit('host1')
        server = self.boot_on('host1', self.masked(300))
        self.assertEqual('host1', self.host_of(server))

    def test_bad_masks(self) -> None:
        flavor = self.masked(300, None)
        for mask, words in (('^0-3', 'leaves no vCPU'), ('4', 'no vCPU 4'),
                            ('0-3', 'names every vCPU'),
                            ('3-1', 'ends before it begins')):
            error = self.assertRaises(
                client.OpenStackApiException, self.api.post_extra_spec,
                flavor, {'extra_specs': {reservation.MASK_KEY: mask}})
            self.assertEqual(400, error.response.status_code)
            self.assertIn(words, str(error))


class MaskTest(test_deadline.Stock, GroupMaskTest):
    """The tests on a stock kernel, by SCHED_DEADLINE."""

    KERNEL = 'stock'


class LiveMaskTest(test_deadline.Stock, _Case,
                   test_live_migration.TestCase):

    KERNEL = 'stock'

    def test_live_migration(self) -> None:
        server = self.boot_on('host1', self.masked(300))
        self.migrate(server, 'completed')
        self.assert_masked(server, 'host2', 300)


load_tests = seeds.load_of_the_day(__name__, 3, 'NOVA_RT_OPERATIONS')
