# SPDX-License-Identifier: Apache-2.0

"""Tests which host is preferred."""

from nova import objects
from nova.scheduler import weights as nova_weights

from nova_rt.scheduler import weights
from tests.unit import base

SPECS = base.extra_specs(100_000, 200_000)


class RTShareWeigherTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.weigher = weights.RTShareWeigher()
        self.hosts = [
            base.host_state(base.host_map(used), name=name)
            for name, used in (('full', [950_000]), ('half', [450_000]),
                               ('free', [0]))]

    def order(self, specs=None):
        """Names by weight, as Nova sorts them."""
        found = nova_weights.HostWeightHandler().get_weighed_objects(
            [self.weigher], self.hosts, base.request_spec(specs))
        return [(host.obj.host, round(host.weight, 3)) for host in found]

    def test_spread(self):
        self.assertEqual([('free', 1.0), ('half', 0.526), ('full', 0.0)],
                         self.order(SPECS))

    def test_weights_are_shares_of_the_freest(self):
        del self.hosts[0]
        self.assertEqual([('free', 1.0), ('half', 0.526)], self.order(SPECS))

    def test_pack(self):
        self.config(rt_share_weight_multiplier=-1.0)
        self.assertEqual([('full', 0.0), ('half', -0.526), ('free', -1.0)],
                         self.order(SPECS))

    def test_aggregate_wins(self):
        for host in self.hosts:
            host.aggregates = [objects.Aggregate(
                metadata={'rt_share_weight_multiplier': '-2'})]
        self.assertEqual(('free', -2.0), self.order(SPECS)[-1])

    def test_other_servers_are_not_weighed(self):
        self.assertEqual({0.0}, {weight for _, weight in self.order()})

    def test_host_without_the_plugin_is_last(self):
        self.hosts.append(base.host_state(None, name='plain'))
        self.assertEqual(0.0, dict(self.order(SPECS))['plain'])

    def test_host_beyond_its_cap_is_no_worse_than_full(self):
        self.hosts.append(base.host_state(
            base.host_map([900_000], cap=500_000), name='lowered'))
        weights = dict(self.order(SPECS))
        self.assertEqual((0.0, 0.0, 1.0), (
            weights['lowered'], weights['full'], weights['free']))
