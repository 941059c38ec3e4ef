# SPDX-License-Identifier: Apache-2.0

"""Tests a host's bandwidth as the scheduler sees it."""

import dataclasses

import fixtures
from nova.scheduler import host_manager
from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import hostmap
from nova_rt.services.scheduler import host_state
from tests.unit import base

SPECS = base.extra_specs(500, 1000)  # a share of 0.5


class RTHostStateTest(base.TestCase):

    def state(self, published):
        return base.host_state(published, host_state.RTHostState)

    def consume(self, state, **kwargs):
        state.updated = None
        state.consume_from_request(base.request_spec(SPECS, **kwargs))
        # Nova logs errors here and goes on.
        self.assertIsNotNone(state.updated)

    def test_shares(self):
        state = self.state(base.host_map([100_000, 0]))
        self.assertEqual((1.9, 0.1), (state.rt_share, state.rt_share_used))
        self.assertAlmostEqual(1.8, state.free_rt_share)

    def test_host_without_the_plugin(self):
        state = self.state(None)
        self.assertIsNone(state.rt_map)
        self.assertEqual((0.0, 0.0, 0.0), (
            state.rt_share, state.rt_share_used, state.free_rt_share))
        self.consume(state)
        self.assertIsNone(state.rt_map)

    def test_consumed_as_the_host_would(self):
        for policy, chosen in (('worst_fit', 0), ('best_fit', 1),
                               ('first_fit', 0), ('not installed', 0)):
            used = [0, 300_000, 100_000]
            state = self.state(base.host_map(used, policy=policy))
            self.consume(state)
            used[chosen] += 500_000
            self.assertEqual(tuple(used), state.rt_map.state.used)
            self.assertEqual(policy, state.rt_map.policy)

    def test_consumed_on_each_pcpu_of_the_server(self):
        state = self.state(base.host_map([0, 0, 0]))
        self.consume(state, vcpus=2)
        self.assertEqual((500_000, 500_000, 0), state.rt_map.state.used)

    def test_servers_of_one_request_add_up(self):
        state = self.state(base.host_map([0], cap=1_000_000))
        self.consume(state)
        self.consume(state)
        self.assertEqual((1_000_000,), state.rt_map.state.used)

    def test_consumed_as_the_kernel_would_have_it(self):
        """The second server is divided, so that more servers fit."""
        host = base.fixed_map(pcpus=1)
        specs = base.extra_specs(40_000, 100_000)
        state = self.state(dataclasses.replace(host, state=dataclasses.replace(
            host.state, min_divided_us=100)))
        for _ in range(2):
            state.consume_from_request(base.request_spec(specs))
        short, long = state.rt_map.state.servers[0]
        self.assertEqual(100_000, long.period_us)
        self.assertLess(short.period_us, 50_000)
        self.assertEqual(short.bandwidth + long.bandwidth,
                         state.rt_map.state.charged)

    def test_server_without_a_reservation_consumes_none(self):
        state = self.state(base.host_map([0]))
        state.consume_from_request(base.request_spec())
        self.assertEqual((0,), state.rt_map.state.used)
        self.assertEqual(1, state.num_instances)

    def test_what_does_not_fit_changes_nothing(self):
        state = self.state(base.host_map([600_000]))
        self.consume(state)
        self.assertEqual((600_000,), state.rt_map.state.used)

    def test_update_reads_the_new_map(self):
        state = self.state(base.host_map([0]))
        self.assertEqual(0.0, state.rt_share_used)
        stats = hostmap.to_stats(base.host_map([200_000]))
        state.update(base.compute_node('host1', stats), {}, [], {})
        self.assertEqual(0.2, state.rt_share_used)

    def test_map_of_novas_host_state(self):
        published = base.host_map([7])
        self.assertEqual(published,
                         host_state.map_of(base.host_state(published)))
        self.assertIsNone(host_state.map_of(base.host_state(None)))

    def test_map_of_ours_has_what_was_consumed(self):
        state = self.state(base.host_map([0]))
        self.consume(state)
        self.assertEqual((500_000,), host_state.map_of(state).state.used)

    def test_nova_makes_ours(self):
        self.useFixture(fixtures.MockPatchObject(
            host_manager.HostManager, 'host_state_cls',
            host_manager.HostManager.host_state_cls))
        host_state.install()
        host_state.install()
        manager = object.__new__(host_manager.HostManager)
        state = manager.host_state_cls('h', 'n', uuids.cell, compute=None)
        self.assertIsInstance(state, host_state.RTHostState)
        self.assertEqual(('h', 'n', uuids.cell),
                         (state.host, state.nodename, state.cell_uuid))
