# SPDX-License-Identifier: Apache-2.0

"""Tests which host disturbs and is disturbed least."""

import os
import pathlib

import ddt
import fixtures
from nova import objects
from nova.scheduler import weights as nova_weights

from nova_rt.rules import neighbours
from nova_rt.scheduler import weights
from nova_rt.services.scheduler import host_state
from rt_models.interference import document
from tests.unit import base

SHARED, RESERVED = neighbours.Kind


def typed(name, **more):
    return {'hw:cpu.vnf_type': name, **more}


def host(name, *types, text=None, published=None, kind=SHARED):
    """A host with servers of *types*, or with any *text* of its stats."""
    state = base.host_state(published, host_state.RTHostState, name)
    state.stats = dict(state.stats) | {
        neighbours.KEY: neighbours.to_text(neighbours.Neighbours.count(
            neighbours.Typed(kind, each) for each in types))
        if text is None else text}
    return state


class _Case(base.TestCase):

    def weights(self, hosts, specs=None, **kwargs):
        """Weights by name, as Nova multiplies them."""
        found = nova_weights.HostWeightHandler().get_weighed_objects(
            [weights.RTInterferenceWeigher()], hosts,
            base.request_spec(specs, **kwargs))
        return {each.obj.host: round(each.weight, 4) for each in found}


@ddt.ddt
class RTInterferenceWeigherTest(_Case):

    def setUp(self):
        super().setUp()
        self.config(interference_weight_multiplier=1.0)

    def test_the_server_and_its_neighbours_count(self):
        """II beside V has 0.353 of its throughput alone, and V has 0.705."""
        self.config(interference_weight_multiplier=100.0)
        found = self.weights([host('none'), host('I', 'I'), host('V', 'V')],
                             typed('II'))
        self.assertEqual(['none', 'I', 'V'], list(found))

    def test_the_next_one_counts_in_part(self):
        """Only servers of type II were seen: II beside II would have 0.587."""
        found = self.weights([host('a'), host('b')], typed('II'))
        self.assertAlmostEqual(1 - 0.6 * (2 - 2 * 0.587), found['a'], 4)

    def test_a_hundredth_is_not_stretched(self):
        path = self.matrix('{x: {x: 0.99, y: 0.99}, y: {x: 1.0, y: 1.0}}')
        self.config(interference_matrix=path)
        found = self.weights([host('a'), host('b', 'y')], typed('x'))
        self.assertAlmostEqual(0.01, found['a'] - found['b'], 3)

    def matrix(self, cells, kind='shared'):
        path = os.path.join(
            self.useFixture(fixtures.TempDir()).path, 'm.yaml')
        with open(path, 'w') as handle:
            handle.write(
                f'format: nova-rt-interference/1\napplies_to: {kind}\n'
                f'metric: normalised-throughput\n'
                f'types: {{x: x, y: y}}\ncells: {cells}\n')
        return path

    @ddt.data('', 'x', '{"version":2,"shared":{},"reserved":{}}', '[]')
    def test_who_does_not_tell_is_neutral(self, text):
        hosts = [host('good'), host('bad', 'V', 'V'),
                 host('mute', text=text)]
        found = self.weights(hosts, typed('II'))
        self.assertAlmostEqual((found['good'] + found['bad']) / 2,
                               found['mute'], 3)
        self.assertGreater(found['good'], found['bad'])

    def test_nobody_tells(self):
        found = self.weights([host('a', text=''), host('b', text='')],
                             typed('II'))
        self.assertEqual({0.0}, set(found.values()))

    def test_the_host_state_of_nova_does(self):
        hosts = [base.host_state(None, name='mute'), host('a'),
                 host('b', 'V')]
        found = self.weights(hosts, typed('II'))
        self.assertAlmostEqual((found['a'] + found['b']) / 2, found['mute'],
                               3)

    @ddt.data(({}, None), ({'hw:cpu.vnf_type': 'a b'}, None),
              ({}, {'cpu.vnf_type': ['a', 'b']}),
              ({'hw:cpu.vnf_type': 'II', 'hw:cpu.rt_runtime_us': 'x'}, None))
    @ddt.unpack
    def test_not_weighed(self, specs, hints):
        found = self.weights([host('a'), host('b', 'V')], specs,
                             scheduler_hints=hints)
        self.assertEqual({0.0}, set(found.values()))

    def test_hint_wins(self):
        hosts = [host('a'), host('b', 'V')]
        self.assertEqual(
            self.weights(hosts, typed('IV')),
            self.weights(hosts, typed('I'),
                         scheduler_hints={'cpu.vnf_type': ['IV']}))

    def test_reserved_servers_lose_nothing_without_a_matrix(self):
        specs = typed('II', **base.extra_specs(10_000, 100_000))
        found = self.weights([host('a'), host('b', 'V', kind=RESERVED)],
                             specs)
        self.assertEqual({1.0}, set(found.values()))
        self.config(interference_matrix_reserved=self.matrix(
            '{x: {x: 0.5, y: 0.5}, y: {x: 0.5, y: 0.5}}', 'reserved'))
        specs = typed('x', **base.extra_specs(10_000, 100_000))
        found = self.weights([host('a'), host('b', 'y', kind=RESERVED)],
                             specs)
        self.assertGreater(found['a'], found['b'])

    def test_a_reservation_takes_time_from_shared_servers(self):
        hosts = [host('a', published=base.host_map([0, 0])),
                 host('b', 'I', 'I', published=base.host_map([0, 0]))]
        specs = typed('unknown', **base.extra_specs(50_000, 100_000))
        found = self.weights(hosts, specs)
        self.assertAlmostEqual(1.0, found['a'])
        self.assertAlmostEqual(1 - 0.25 * 2 * 0.935, found['b'], 4)

    def test_a_shared_server_has_what_is_left(self):
        hosts = [host('a', published=base.host_map([0, 0])),
                 host('b', published=base.host_map([500_000, 100_000]))]
        found = self.weights(hosts, typed('unknown'))
        self.assertEqual({'a': 1.0, 'b': 0.7}, found)

    def test_the_last_place_of_a_host(self):
        """A full host loses the throughput that the next server would add."""
        hosts = [host('room'), host('last')]
        hosts[1].free_ram_mb = 1023
        found = self.weights(hosts, typed('unknown'))
        self.assertEqual({'room': 1.0, 'last': 0.4167}, found)
        hosts[1].free_ram_mb = 1024
        self.assertEqual(1.0, self.weights(hosts, typed('unknown'))['last'])
        hosts[1].vcpus_used = 7
        self.assertEqual(0.4167, self.weights(hosts, typed('unknown'))['last'])
        hosts[1].cpu_allocation_ratio = 2.0
        self.assertEqual(1.0, self.weights(hosts, typed('unknown'))['last'])

    def test_multi_create_sees_what_was_placed(self):
        hosts = [host('a'), host('b')]
        first = self.weights(hosts, typed('V'))
        hosts[0].consume_from_request(base.request_spec(typed('V')))
        self.assertEqual(
            neighbours.Neighbours.count([neighbours.Typed(SHARED, 'V')]),
            hosts[0].rt_neighbours)
        second = self.weights(hosts, typed('V'))
        self.assertEqual(first['a'], first['b'])
        self.assertGreater(second['b'], second['a'])

    def test_aggregate_wins(self):
        hosts = [host('a'), host('b')]
        hosts[0].aggregates = [objects.Aggregate(
            metadata={'interference_weight_multiplier': '5'})]
        found = self.weights(hosts, typed('unknown'))
        self.assertEqual({'a': 5.0, 'b': 1.0}, found)


class ReservedTest(_Case):

    def test_says_what_it_does_not_know(self):
        logged = self.useFixture(fixtures.FakeLogger())
        weights.RTInterferenceWeigher()
        self.assertEqual(1, logged.output.count(
            'interference_matrix_reserved is not set'))

    def test_says_nothing_with_a_matrix(self):
        self.config(interference_matrix_reserved=str(
            pathlib.Path(document.SHIPPED).with_name(
                'vnfs-reserved-2026.yaml')))
        logged = self.useFixture(fixtures.FakeLogger())
        weights.RTInterferenceWeigher()
        self.assertEqual('', logged.output)


class BadFileTest(_Case):

    def test_one_error_and_no_weights(self):
        logged = self.useFixture(fixtures.FakeLogger())
        for options, words in (
                ({'interference_matrix': '/nowhere'}, 'cannot be read'),
                ({'interference_matrix': None,
                  'interference_matrix_reserved': document.SHIPPED},
                 'the file applies to shared servers, but this option is for '
                 'reserved servers')):
            self.config(**options)
            found = self.weights([host('a'), host('b', 'V')], typed('II'))
            self.assertEqual({0.0}, set(found.values()))
            self.assertEqual(1, logged.output.count(words))
