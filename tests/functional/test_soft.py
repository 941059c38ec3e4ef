# SPDX-License-Identifier: Apache-2.0

"""Soft reservations: servers also get unreserved CPU time."""

import errno
from typing import Any

import fixtures
from nova.tests.functional.api import client

from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from tests.functional import base
from tests.functional import invariants
from tests.functional import operations
from tests.functional import test_change
from tests.functional import test_deadline
from tests import proof

#: What the kernel may give on each pCPU, in thousandths.
_CAP = 900


class Stock(test_deadline.Stock):
    """A mixin: on a stock kernel, by SCHED_DEADLINE."""

    def soft(self, share: int, vcpus: int = base.PCPUS, kind: str = 'soft'
             ) -> str:
        """A flavor with thousandths of a pCPU, one vCPU on each pCPU."""
        return self.rt_flavor(share * 100, 100_000, vcpus,
                              **{reservation.KIND_KEY: kind})

    def expected(self, host: str, pid: int, claim: claims.RTClaim
                 ) -> invariants.Grants:
        """A soft reservation may have a longer runtime in the kernel."""
        found = super().expected(host, pid, claim)
        granted = self._granted(host) if claim.soft else {}
        return {group: {cpu: max(pair, granted.get(group, {}).get(cpu, pair))
                        for cpu, pair in own.items()}
                for group, own in found.items()}


class SoftTest(Stock, operations.TestCase):
    """Servers come, change and go."""

    HOSTS = ('host1', 'host2')

    def shares(self, server: operations.Server) -> list[int]:
        """Returns the kernel's grants by vCPU, in thousandths of a pCPU."""
        host = self.host_of(server)
        groups = self.guests.hosts[host].vcpus(
            self.domain(server, host).rt_pid)
        granted = self.kernel(host).granted()
        return [round(runtime / period * 1000) for group in groups
                for runtime, period in granted.get(group, {}).values()]

    def assert_soft(self, server: operations.Server, share: int) -> None:
        """All vCPUs have this share, and no pCPU is over-committed."""
        self.assertEqual([share] * base.PCPUS, self.shares(server))
        for host in self.HOSTS:
            self.assertEqual([], self.kernel(host).over_cap(self.CAP))

    @proof.proves(
        'Create a server with a soft reservation',
        'The server has its reservation at once. The next audit also '
        'gives the server the bandwidth of its pCPUs that nobody has '
        'reserved.')
    def test_alone(self) -> None:
        server = self.boot_on('host1', self.soft(300))
        self.assertTrue(self.claimed(server).identifier.endswith(';soft'))
        self.assert_soft(server, 300)
        self.audit('host1')
        self.assert_soft(server, _CAP)
        self.assertEqual((300_000 * base.PCPUS, 300_000),
                         self.usage('host1'))
        self.restart_compute_service('host1')
        self.assert_soft(server, _CAP)

    @proof.proves(
        'Create a server where servers with soft reservations run',
        'Before the new server starts, the other servers get shorter '
        'runtimes, but not shorter than their reservations. When the new '
        'server is gone, the other servers get longer runtimes at once.')
    def test_arrival(self) -> None:
        server = self.boot_on('host1', self.soft(300))
        self.audit('host1')
        other = self.boot_on('host1', self.soft(400, kind='hard'))
        self.assert_soft(server, 500)
        self.audit('host1')
        self.assert_soft(server, 500)
        last = self.boot_on('host1', self.soft(200, kind='hard'))
        self.assert_soft(server, 300)
        for each, share in ((last, 500), (other, _CAP)):
            self.api.delete_server(each['id'])
            self._wait_until_deleted(each)
            self.assert_soft(server, share)

    def test_two(self) -> None:
        """The two servers have equal parts of the free share."""
        first = self.boot_on('host1', self.soft(300))
        second = self.boot_on('host1', self.soft(400))
        self.audit('host1')
        self.assert_soft(first, 400)
        self.assert_soft(second, 500)

    @proof.proves(
        'Create a server, and the kernel refuses to make the runtime of a '
        'server with a soft reservation shorter',
        'The new server is refused, and the other server keeps its runtime.')
    def test_the_kernel_refuses(self) -> None:
        server = self.boot_on('host1', self.soft(300))
        self.audit('host1')

        def refuse(path: str, text: str) -> None:
            if path.startswith('sched_setattr'):
                raise OSError(errno.EINVAL, 'refused', path)
        self.kernel('host1').intercept = refuse
        self.boot_on('host1', self.soft(400, kind='hard'), 'ERROR')
        self.kernel('host1').intercept = None
        self.assert_soft(server, _CAP)

    def test_moves(self) -> None:
        server = self.boot_on('host1', self.soft(300))
        self.audit('host1')
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.audit('host2')
        self.assertEqual('host2', self.host_of(server))
        self.assert_soft(server, _CAP)
        self.act(server, 'reboot', {'type': 'HARD'}, 'ACTIVE')
        self.audit('host2')
        self.assert_soft(server, _CAP)

    @proof.proves(
        'Resize between hard and soft reservations',
        'The guest keeps running on its host.')
    def test_resize(self) -> None:
        server = self.boot_on('host1', self.soft(300))
        self.audit('host1')
        pid = self.domain(server, 'host1').rt_pid
        for share, kind, after in ((400, 'soft', _CAP), (200, 'hard', 200),
                                   (200, 'soft', _CAP)):
            self.act(server, 'resize', {
                'flavorRef': self.soft(share, kind=kind)}, 'VERIFY_RESIZE')
            self.audit('host1')
            self.act(server, 'confirmResize', None, 'ACTIVE')
            self.audit('host1')
            self.assert_soft(server, after)
        self.act(server, 'resize', {'flavorRef': self.soft(100)},
                 'VERIFY_RESIZE')
        self.audit('host1')
        self.act(server, 'revertResize', None, 'ACTIVE')
        self.audit('host1')
        self.assert_soft(server, _CAP)
        self.assertEqual(pid, self.domain(server, 'host1').rt_pid)

    def test_only_hosts_that_take_them(self) -> None:
        """The trait says so, and the claim refuses with one sentence."""
        self.useFixture(fixtures.MonkeyPatch(
            'tests.emulation.stock.Kernel.shrinks', False))
        self.HOSTS = (*self.HOSTS, self.start_host('host3'))
        self.assertIn(hostmap.SOFT_TRAIT, self.traits('host1'))
        self.assertNotIn(hostmap.SOFT_TRAIT, self.traits('host3'))
        self.boot_on('host3', self.soft(300), 'ERROR')

    def test_an_unknown_kind(self) -> None:
        error = self.assertRaises(
            client.OpenStackApiException, self.api.post_extra_spec,
            self.soft(300), {'extra_specs': {reservation.KIND_KEY: 'fair'}})
        self.assertEqual(400, error.response.status_code)


class ChangeTest(test_change.ChangeTests, SoftTest):
    """``nova-rt-manage reserve`` on a host with a soft reservation."""

    HOSTS = ('host1',)
    VCPUS = 1

    def test_raised(self) -> None:
        server = self.boot_on('host1', self.soft(300))
        other = self.boot_on('host1', self.soft(200, kind='hard'))
        self.audit('host1')
        self.assert_soft(server, 700)
        self.reserve(other, 50_000)
        self.assert_soft(server, 400)
        self.reserve(server, 35_000)
        self.assert_soft(server, 400)
        self.reserve(other, 10_000)
        self.assert_soft(server, 800)


def load_tests(loader: Any, standard: Any, pattern: str | None) -> Any:
    """ChangeTest has only its own test; test_change has the others."""
    suite = loader.suiteClass(loader.loadTestsFromTestCase(SoftTest))
    suite.addTest(ChangeTest('test_raised'))
    return suite
