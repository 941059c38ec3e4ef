# SPDX-License-Identifier: Apache-2.0

"""Tests which size of host is preferred."""

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
            state.hypervisor_type = kwargs.get('hypervisor', 'LXC')
            state.aggregates = kwargs.get('aggregates', [])
            states.append(state)
        found = nova_weights.HostWeightHandler().get_weighed_objects(
            [weights.RTCHRWeigher()], states,
            base.request_spec(specs, vcpus=vcpus))
        return {int(each.obj.host): round(each.weight, 3) for each in found}

    def test_hosts_of_figure_7(self):
        """16 cores on 16 (CHR 1) lost less than on 112 (0.14)."""
        found = self.weights({'hw:cpu.app_class': 'cpu'}, vcpus=16,
                             hosts=(16, 32, 112, 224, 448))
        self.assertEqual([16, 32, 112, 224, 448], list(found))
        self.assertEqual(1.0, found[16])

    def test_most_of_the_loss_is_below_the_range(self):
        for name, least in (('cpu', 112), ('io', 56), ('ultra-io', 28)):
            found = self.weights({'hw:cpu.app_class': name},
                                 hosts=(8, least, 2 * least))
            self.assertLess(found[8] - found[least], 0.1, name)
            self.assertGreater(found[least] - found[2 * least], 0.4, name)

    def test_hosts_of_virtual_machines(self):
        """The measurements of the paper are specific to containers."""
        self.assertEqual({0.0}, set(self.weights(
            {'hw:cpu.app_class': 'cpu'}, hypervisor='QEMU').values()))

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
        self.assertEqual(3.0, self.weights(specs)[8])
        self.assertEqual(-2.0, self.weights(specs, aggregates=[
            objects.Aggregate(metadata={'chr_weight_multiplier': '-2'})])[
                8])
