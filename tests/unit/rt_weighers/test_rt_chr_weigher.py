# SPDX-License-Identifier: Apache-2.0

"""What is tested here: which size of host is preferred."""

from nova import objects
from nova.scheduler import weights as nova_weights

from nova_rt.scheduler import weights
from tests.unit import base


class RTCHRWeigherTest(base.TestCase):

    def weights(self, specs, vcpus=8, hosts=(8, 32, 112), **kwargs):
        """Weights by the cores of the host."""
        states = []
        for cores in hosts:
            state = base.host_state(None, name=str(cores))
            state.vcpus_total = cores
            state.aggregates = kwargs.get('aggregates', [])
            states.append(state)
        found = nova_weights.HostWeightHandler().get_weighed_objects(
            [weights.RTCHRWeigher()], states,
            base.request_spec(specs, vcpus=vcpus))
        return {int(each.obj.host): round(each.weight, 3) for each in found}

    def test_each_class_has_its_range(self):
        for name, best in (('cpu', 112), ('io', 32), ('ultra-io', 16)):
            found = self.weights({'hw:cpu.app_class': name},
                                 hosts=(16, 32, 112))
            self.assertEqual(1.0, found[best], name)

    def test_a_factor_of_two_outside_halves(self):
        found = self.weights({'hw:cpu.app_class': 'io'}, vcpus=14,
                             hosts=(25, 100, 200))
        self.assertEqual({100: 1.0, 200: 0.5, 25: 0.5}, found)

    def test_not_weighed(self):
        for specs in ({}, {'hw:cpu.app_class': 'disk'},
                      {'hw:cpu.app_class': 'io',
                       **base.extra_specs(10_000, 100_000)}):
            self.assertEqual({0.0}, set(self.weights(specs).values()))

    def test_a_host_without_cores(self):
        self.assertEqual(0.0, self.weights(
            {'hw:cpu.app_class': 'io'}, hosts=(0, 32))[0])

    def test_multipliers(self):
        self.config(chr_weight_multiplier=3.0)
        specs = {'hw:cpu.app_class': 'cpu'}
        self.assertEqual(3.0, self.weights(specs)[112])
        self.assertEqual(-2.0, self.weights(specs, aggregates=[
            objects.Aggregate(metadata={'chr_weight_multiplier': '-2'})])[
                112])
