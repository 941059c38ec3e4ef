# SPDX-License-Identifier: Apache-2.0

"""Tests where the threads of a server run that are not vCPUs."""

from typing import Any

import fixtures
from lxml import etree
from nova.tests.functional.api import client as api_client

from nova_rt.rules import cpulist
from nova_rt.rules import exception
from tests.functional import test_numa
from tests import proof

POLICY = 'hw__emulator_threads_policy'


class TestCase(test_numa.TestCase):

    def homes(self, server: dict[str, Any], host: str = 'host1'
              ) -> set[tuple[int, ...]]:
        """Returns the CPUs of the emulator and of the I/O threads."""
        guests = self.guests.hosts[host]
        group = guests.group(self.domain(server, host).rt_pid)
        return {cpulist.parse_ids(guests.kernel.read(
            guests.cpus_of(f'{group}/{name}')))
            for name in ('emulator', 'iothread1')}

    def tune(self, server: dict[str, Any], name: str) -> Any:
        return etree.fromstring(self.domain(server).rt_xml).find(
            f'cputune/{name}')


class ChosenTest(TestCase):
    """Tests CPUs for emulators in cell 1, which Nova does not know."""

    def setUp(self) -> None:
        self.flags(cpu_shared_set='0-2', group='compute')
        super().setUp()

    def configure(self, **options: Any) -> None:
        for name, value in options.items():
            self.flags(group='nova_rt', **{name: value})

    def _configure(self) -> None:
        super()._configure()
        self.flags(emulator_cpus='3', emulator_max_share=0.5,
                   group='nova_rt')

    @proof.proves(
        'Create with [nova_rt] emulator_cpus and emulator_max_share',
        'Emulator and I/O threads run on these CPUs, within the limit.')
    def test_create_and_audit(self) -> None:
        server = self.boot_on('host1', self.bound(300, 1))
        self.assertEqual({(3,)}, self.homes(server))
        self.assertEqual('5000', self.tune(server, 'emulator_quota').text)
        self.assertEqual('10000', self.tune(server, 'iothread_period').text)
        self.configure(emulator_cpus='3', rt_cpus='0-1')
        self.audit('host1')
        self.assertEqual({(3,)}, self.homes(server))
        self.configure(emulator_cpus=None)
        self.audit('host1')
        self.assertEqual({(2,)}, self.homes(server))
        self.assert_invariants()

    def test_a_wrong_list_keeps_nova_compute_from_starting(self) -> None:
        for spec, words in (('2-3', 'reservations may use CPU 2'),
                            ('9', 'CPU 9, not online')):
            self.configure(emulator_cpus=spec)
            error = self.assertRaises(
                exception.InvalidConfiguration,
                self.computes['host1'].driver._rt_measure)
            self.assertIn(words, str(error))


class PolicyTest(TestCase):
    """Two of the four pCPUs of each cell are dedicated by Nova."""

    CELLS = {0: {0, 1, 2, 3}, 1: {4, 5, 6, 7}}

    def setUp(self) -> None:
        self.useFixture(fixtures.MonkeyPatch('tests.functional.base.PCPUS',
                                             8))
        self.flags(cpu_shared_set='0-1,4-5', cpu_dedicated_set='2-3,6-7',
                   group='compute')
        super().setUp()

    def _configure(self) -> None:
        super()._configure()
        self.flags(rt_cpus='0,4', group='nova_rt')

    def pcpus(self, server: dict[str, Any]) -> tuple[int, int]:
        """Returns the PCPU and VCPU that Placement has for the server."""
        allocation, = self._get_allocations_by_server_uuid(
            server['id']).values()
        amounts = allocation['resources']
        return amounts.get('PCPU', 0), amounts.get('VCPU', 0)

    @proof.proves(
        'Create with hw:emulator_threads_policy=isolate and mixed',
        'Nova accounts for one more dedicated pCPU, in the cell of the '
        'claim.')
    def test_isolate(self) -> None:
        flavor = self.bound(300, 2, **{
            'hw__cpu_policy': 'mixed', 'hw__cpu_dedicated_mask': '0',
            POLICY: 'isolate'})
        for reserved, dedicated in ((0, {2, 3}), (4, {6, 7})):
            server = self.boot_on('host1', flavor)
            self.assertEqual((2, 1), self.pcpus(server))
            self.assertEqual((300_000, 300_000), self.allocated(server))
            self.assertEqual({1: reserved}, self.claimed(server).by_vcpu)
            cell, = self.topology(server).cells
            own, = cell.cpu_pinning.values()
            self.assertEqual(dedicated, {own, *cell.cpuset_reserved})
            self.assertEqual(cell.cpuset_reserved, {int(self.tune(
                server, 'emulatorpin').get('cpuset'))})
        # Each cell has room for the reservation, and no dedicated pCPU.
        self.boot_on('host1', flavor, 'ERROR')
        self.assert_invariants()

    def test_isolate_without_dedicated_pcpus(self) -> None:
        error = self.assertRaises(
            api_client.OpenStackApiException, self.post,
            self.bound(300, **{POLICY: 'isolate'}))
        self.assertEqual(400, error.response.status_code)
        self.assertIn("hw:emulator_threads_policy='isolate'", str(error))

    def test_share(self) -> None:
        server = self.boot_on('host1', self.bound(300, **{POLICY: 'share'}))
        self.assertEqual((0, 1), self.pcpus(server))
        self.assertEqual((300_000, 300_000), self.allocated(server))
        # Nova lets the emulator run in each cell, but nova-rt does not.
        self.assertEqual({0, 1, 4, 5}, set(cpulist.parse_ids(
            self.tune(server, 'emulatorpin').get('cpuset'))))
        self.assertEqual({(1,)}, self.homes(server))
        self.assert_invariants()
