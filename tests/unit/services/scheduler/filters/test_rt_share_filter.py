# SPDX-License-Identifier: Apache-2.0

"""Tests which hosts pass, and what is said if none does."""

import dataclasses
import logging

import fixtures
import hypothesis
from hypothesis import strategies as st
from nova import exception as nova_exception
from nova import objects
from nova.scheduler import host_manager
from nova.scheduler import request_filter
from nova.virt import hardware

from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.scheduler import filters
from nova_rt.services.scheduler import host_state
from tests.unit import base
from tests.unit.services.compute import test_numa

HALF = base.extra_specs(100_000, 200_000)
_ASK = hardware.numa_fit_instance_to_host


class _Case(base.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MockPatchObject(
            host_manager.HostManager, 'host_state_cls',
            host_manager.HostManager.host_state_cls))
        self.useFixture(fixtures.MockPatchObject(
            request_filter, 'ALL_REQUEST_FILTERS', []))
        self.filter = filters.RTShareFilter()


class RTShareFilterTest(_Case):

    def passing(self, hosts, specs=None, hints=None, **kwargs):
        spec = base.request_spec(specs, hints, **kwargs)
        return [host.host for host in self.filter.filter_all(hosts, spec)]

    def hosts(self, *maps):
        return [base.host_state(published, host_state.RTHostState, f'host{n}')
                for n, published in enumerate(maps)]

    def test_pcpu_with_room(self):
        hosts = self.hosts(base.host_map([450_001] * 4),
                           base.host_map([900_000, 450_000]))
        self.assertEqual(['host1'], self.passing(hosts, HALF))

    def test_a_pcpu_for_each_vcpu(self):
        hosts = self.hosts(base.host_map([0]), base.host_map([0, 0]))
        self.assertEqual(['host1'], self.passing(hosts, HALF, vcpus=2))

    def test_replicated_host_counts_every_claim(self):
        used = [500_000, 0]
        hosts = self.hosts(
            base.host_map(used),
            base.host_map(used, replicated=True, charged=500_000))
        self.assertEqual(['host0'], self.passing(hosts, HALF))

    def test_fixed_priorities(self):
        """The sum fits both; the first would miss its periods."""
        long = reservation.Reservation(80_000, 200_000)
        hosts = self.hosts(base.fixed_map(((0,), long), pcpus=1),
                           base.fixed_map(((0,), long)),
                           base.host_map([400_000], replicated=True,
                                         charged=400_000))
        self.assertEqual(['host1', 'host2'], self.passing(
            hosts, base.extra_specs(50_000, 100_000)))

    def test_a_mask_needs_fewer_pcpus(self):
        masked = HALF | {'hw:cpu.rt_mask': '^0'}
        hosts = self.hosts(base.host_map([0] * 2, takes=['mask']),
                           base.host_map([0] * 3, takes=['mask']))
        self.assertEqual(['host1'], self.passing(hosts, masked, vcpus=4))
        self.assertEqual([], self.passing(hosts, HALF, vcpus=4,
                                          num_instances=2))

    def test_a_host_that_does_not_take_masks(self):
        """The version or the kernel of the host does not support masks."""
        masked = HALF | {'hw:cpu.rt_mask': '^0'}
        old, new = self.hosts(base.host_map([0] * 4),
                              base.host_map([0] * 4, takes=['mask']))
        self.assertEqual(['host1'], self.passing([old, new], masked, vcpus=4))
        told, logged = self.refused([old], 4, masked)
        self.assertIn('does not fit on 3 pCPUs of any host', told)
        self.assertIn('or without hw:cpu.rt_mask', told)
        self.assertIn('host0 does not take mask (an older nova-rt, or',
                      logged)

    def test_siblings_as_the_claim_counts_them(self):
        """The sum follows cores_of each host, and the wish of the flavor."""
        ignored = base.host_map([0] * 4)
        counted = dataclasses.replace(
            ignored, takes=frozenset(['core']), state=dataclasses.replace(
                ignored.state, smt=cpus.Smt.CORE, cores=(0, 0, 2, 2)))
        hosts = self.hosts(ignored, counted)
        self.assertEqual(['host0'], self.passing(hosts, HALF, vcpus=3))
        self.assertEqual(['host0', 'host1'],
                         self.passing(hosts, HALF, vcpus=2))
        self.assertEqual(['host1'], self.passing(
            hosts, HALF | {'hw:cpu.rt_smt': 'core'}, vcpus=2))
        hosts[1].consume_from_request(base.request_spec(HALF))
        self.assertEqual(['host0'], self.passing(hosts, HALF, vcpus=2))

    def test_consumed_with_a_mask(self):
        masked = HALF | {'hw:cpu.rt_mask': '^0'}
        host, = self.hosts(base.host_map([0] * 6, takes=['mask']))
        for used in (3, 6):
            self.assertEqual(['host0'], self.passing([host], masked, vcpus=4))
            host.consume_from_request(base.request_spec(masked, vcpus=4))
            self.assertEqual(used * 500_000, sum(host.rt_map.state.used))
        self.refused([host], 4, masked)

    def test_a_bad_mask_passes_nowhere(self):
        hosts = self.hosts(base.host_map([0] * 4, takes=['mask']))
        for mask in ('^0-3', '0-3', 'x', '4'):
            self.assertEqual([], self.passing(
                hosts, HALF | {'hw:cpu.rt_mask': mask}, vcpus=4))
        self.assertEqual([], self.passing(
            hosts, {'hw:cpu.rt_mask': '^0'}, vcpus=4))

    def test_hint_decides(self):
        hosts = self.hosts(base.host_map([600_000]))
        self.assertEqual(['host0'], self.passing(
            hosts, HALF, base.hints(runtime=70_000)))

    def test_host_that_publishes_nothing(self):
        hosts = self.hosts(None, base.host_map([], cap=0),
                           base.host_map([0]))
        self.assertEqual(['host2'], self.passing(hosts, HALF))
        self.assertEqual(['host0', 'host1', 'host2'], self.passing(hosts))

    def test_works_on_novas_host_state(self):
        host = base.host_state(base.host_map([0]))
        self.assertEqual(['host1'], self.passing([host], HALF))

    def test_what_was_consumed_counts(self):
        host, = self.hosts(base.host_map([0]))
        host.consume_from_request(base.request_spec(HALF))
        self.assertRaises(nova_exception.NoValidHost, self.passing, [host],
                          HALF)

    def test_rebuild_stays_where_it_is(self):
        hosts = self.hosts(base.host_map([950_000]))
        self.assertEqual(['host0'], self.passing(
            hosts, HALF, {'_nova_check_type': ['rebuild']}))

    def test_nonsense_passes_nowhere(self):
        log = self.useFixture(fixtures.FakeLogger(
            name='nova_rt.services.scheduler', level=logging.INFO))
        hosts = self.hosts(base.host_map([0]))
        self.assertEqual([], self.passing(hosts, HALF,
                                          base.hints(runtime='abc')))
        self.assertIn('CPU reservation refused: Invalid', log.output)

    def refused(self, hosts, vcpus=1, specs=HALF):
        """Returns the messages to the owner and to the operator."""
        log = self.useFixture(fixtures.FakeLogger(
            name='nova_rt.services.scheduler', level=logging.INFO))
        error = self.assertRaises(nova_exception.NoValidHost, self.passing,
                                  hosts, specs, vcpus=vcpus)
        return str(error), log.output

    def test_reason(self):
        told, logged = self.refused(self.hosts(
            None, base.host_map([], cap=0),
            base.host_map([700_000, 500_000])), vcpus=2)
        for words in ('100000 us every 200000 us (share 0.500)', '2 pCPUs'):
            self.assertIn(words, told)
            self.assertIn(words, logged)
        for words in ('host0 publishes no map of version 1',
                      'host1 has no pCPU',
                      'host2 has 2 pCPUs, the emptiest with 0.450 free'):
            self.assertIn(words, logged)
        self.assertNotIn('host0', told)
        self.assertNotIn('0.450', told)

    def test_reason_with_fixed_priorities(self):
        """The reason is given only if the bandwidth is large enough."""
        hosts = self.hosts(
            base.fixed_map(((0,), reservation.Reservation(80_000, 200_000)),
                           pcpus=1),
            base.host_map([900_000]))
        _, logged = self.refused(hosts, specs=base.extra_specs(
            50_000, 100_000))
        self.assertIn('host0 has 1 pCPU, the emptiest with 0.550 free, but '
                      'its kernel runs servers by fixed priorities', logged)
        self.assertTrue(logged.endswith('with 0.050 free\n'))

    def test_reason_is_short_on_large_clouds(self):
        _, logged = self.refused(self.hosts(*[base.host_map([950_000])] * 500))
        self.assertIn('490 more hosts', logged)
        self.assertLess(len(logged), 1000)

    def test_a_method_of_nova_that_differs(self):
        self.useFixture(fixtures.MockPatchObject(
            host_manager.HostState, '_locked_consume_from_request',
            lambda state: None))
        self.assertRaises(exception.UnsupportedNova, filters.RTShareFilter)

    def test_lowered_cap_shows_as_nothing_free(self):
        hosts = self.hosts(base.host_map([900_000], cap=500_000))
        _, logged = self.refused(hosts)
        self.assertIn('emptiest with 0.000 free', logged)

    def test_multi_create_leaves_the_refusal_to_nova(self):
        hosts = self.hosts(base.host_map([950_000]))
        self.assertEqual([], self.passing(hosts, HALF, num_instances=2))

    def test_no_hosts_left(self):
        self.assertEqual([], self.passing([], HALF))

    def test_one_host(self):
        host, = self.hosts(base.host_map([0]))
        self.assertTrue(self.filter.host_passes(
            host, base.request_spec(HALF)))

    def test_start_installs_the_rest(self):
        self.assertIs(host_state._host_state_cls,
                      host_manager.HostManager.host_state_cls)
        self.assertEqual(1, len(request_filter.ALL_REQUEST_FILTERS))

    @hypothesis.given(st.lists(st.lists(st.integers(0, 950_000), max_size=4),
                               min_size=1, max_size=3),
                      st.integers(100, 1000), st.integers(1, 3))
    @base.PROPERTY
    def test_exactly_the_hosts_with_room(self, loads, runtime, vcpus):
        self.config(max_share=1.0)
        hosts = self.hosts(*map(base.host_map, loads))
        # With a period of 1000 a us of runtime is 1000 ppm.
        room = [f'host{n}' for n, used in enumerate(loads) if sum(
            ppm + runtime * 1000 <= 950_000 for ppm in used) >= vcpus]
        self.assertEqual(room, self.passing(
            hosts, base.extra_specs(runtime, 1000), vcpus=vcpus,
            num_instances=2))

    def test_hints_that_are_none(self):
        spec = base.request_spec(HALF)
        spec.scheduler_hints = None
        hosts = self.hosts(base.host_map([0]))
        self.assertEqual(hosts, list(self.filter.filter_all(hosts, spec)))


class NumaTest(_Case):
    """Servers with a NUMA topology, on hosts of two cells."""

    def setUp(self):
        super().setUp()
        self.asked = self.useFixture(fixtures.MockPatch(
            'nova.virt.hardware.numa_fit_instance_to_host',
            side_effect=_ASK)).mock

    def host(self, *used, takes=('numa',), seen=True):
        host = base.host_state(base.host_map(list(used), takes=takes),
                               host_state.RTHostState)
        host.numa_topology = test_numa.two_cells()
        host.allocation_candidates = [{'mappings': {}}]
        if seen:  # by NUMATopologyFilter
            host.limits['numa_topology'] = objects.NUMATopologyLimits(
                cpu_allocation_ratio=16.0, ram_allocation_ratio=1.0)
        return host

    def spec(self):
        spec = base.request_spec(HALF, vcpus=2, num_instances=2)
        spec.numa_topology = test_numa.server((0, 1))
        return spec

    def passes(self, host):
        return bool(list(self.filter.filter_all([host], self.spec())))

    def test_room_everywhere(self):
        self.assertTrue(self.passes(self.host(0, 0, 0, 0)))
        self.asked.assert_not_called()

    def test_room_in_one_cell(self):
        self.assertTrue(self.passes(self.host(500_000, 0, 0, 0)))
        self.asked.assert_called_once()

    def test_room_in_no_cell(self):
        self.assertFalse(self.passes(self.host(500_000, 0, 0, 500_000)))

    def test_a_host_that_novas_filter_has_not_seen(self):
        host = self.host(0, 0, 0, 0, seen=False)
        self.assertTrue(self.passes(host))
        for cell in host.numa_topology.cells:
            cell.mempages[0].used = cell.mempages[0].total
            cell.memory = 32
        self.assertFalse(self.passes(host))

    def test_an_older_host(self):
        log = self.useFixture(fixtures.FakeLogger(
            name='nova_rt.services.scheduler', level=logging.INFO))
        self.assertFalse(self.passes(self.host(0, 0, 0, 0, takes=())))
        self.assertIn('does not take numa (an older nova-rt', log.output)

    def test_a_host_without_cells(self):
        host = self.host(0, 0, 0, 0)
        host.numa_topology = None
        self.assertFalse(self.passes(host))

    def test_candidates_that_do_not_fit(self):
        """Placement's device is in the cell that has no room."""
        host = self.host(500_000, 0, 0, 0)
        good, bad = {'mappings': {'good': []}}, {'mappings': {'bad': []}}
        host.allocation_candidates = [bad, good]
        self.asked.side_effect = lambda *args, **kwargs: (
            None if 'bad' in kwargs['provider_mapping']
            else _ASK(*args, **kwargs))
        self.assertTrue(self.passes(host))
        self.assertEqual([good], host.allocation_candidates)

    def test_consumed_in_the_cell_of_the_claim(self):
        host = self.host(500_000, 0, 0, 0)
        spec = self.spec()
        spec.requested_resources = []
        host.consume_from_request(spec)
        self.assertIsNotNone(host.updated)
        self.assertEqual((500_000, 0, 500_000, 500_000),
                         host.rt_map.state.used)
        self.assertEqual([0, 2], [
            cell.cpu_usage for cell in host.numa_topology.cells])
