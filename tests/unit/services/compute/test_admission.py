# SPDX-License-Identifier: Apache-2.0

"""Tests that Nova is asked what pins a server, not a list."""

import ddt
import fixtures

from nova_rt.rules import conflicts
from nova_rt.rules import exception
from nova_rt.services.compute import admission
from tests.unit import base

SPECS = base.extra_specs(100_000, 200_000)


def image(**properties):
    return admission.image({'properties': properties})


@ddt.ddt
class AdmissionTest(base.TestCase):

    def refused(self, words, *args, check=admission.check):
        error = self.assertRaises(exception.InvalidReservation, check, *args)
        for word in words:
            self.assertIn(word, str(error))

    @ddt.data(
        {}, {'hw:cpu_policy': 'shared'}, {'hw:cpu_realtime': 'no'},
        {'resources:VCPU': '1'}, {'resources1:CUSTOM_GOLD': '1'},
        {'trait:HW_CPU_X86_AVX2': 'required'}, {'hw:numa_nodes': '1'},
        {'hw:mem_page_size': 'large', 'hw:pci_numa_affinity_policy': 'socket'})
    def test_nothing_that_pins(self, specs):
        flavor = base.flavor(SPECS | specs)
        for meta in (None, image(), image(hw_numa_nodes='1')):
            self.assertIsNone(admission.check(flavor, meta))

    @ddt.data(
        ('hw:pmem', '6GB'), ('hw:cpu_policy', 'dedicated'),
        ('resources:PCPU', '1'),
        ('resources1:PCPU', '1'), ('resources_mine:PCPU', '1'))
    @ddt.unpack
    def test_the_key_is_named(self, key, value):
        self.refused([f"flavor extra spec {key}='{value}'"],
                     base.flavor(SPECS | {key: value}))

    def test_mixed(self):
        specs = SPECS | {'hw:cpu_policy': 'mixed',
                         'hw:cpu_dedicated_mask': '0-1'}
        self.assertIsNone(admission.check(base.flavor(specs, vcpus=3)))
        # The mask names only vCPUs with dedicated pCPUs.
        self.refused(["hw:cpu.rt_mask='0'", 'has a dedicated pCPU',
                      'that hw:cpu_dedicated_mask leaves'],
                     base.flavor(specs | {'hw:cpu.rt_mask': '0'}, vcpus=3))

    def test_the_property_is_named(self):
        for check in (admission.check, admission.check_image):
            self.refused(['image property hw_cpu_policy='],
                         base.flavor(SPECS, vcpus=2),
                         image(hw_cpu_policy='dedicated'), check=check)

    @ddt.data(({'hw:cpu_policy': 'dedicated'}, {}),
              ({'resources_mine:PCPU': '1'}, {}),
              ({}, {'hw_cpu_policy': 'dedicated'}))
    @ddt.unpack
    def test_a_key_that_only_nova_knows(self, specs, properties):
        """Were none of them in the list of those that have a name."""
        self.useFixture(fixtures.MockPatchObject(conflicts, 'check'))
        self.refused(["flavor or image flavor='f'", 'dedicates pCPUs',
                      'or the reservation'],
                     base.flavor(SPECS | specs), image(**properties))

    def test_what_nova_itself_refuses(self):
        self.assertIsNone(admission.check(base.flavor(
            SPECS | {'hw:cpu_thread_policy': 'isolate'})))

    def test_the_image_of_a_server_under_older_rules(self):
        flavor = base.flavor(SPECS | {'hw:pmem': '6GB'})
        self.assertIsNone(admission.check_image(flavor, image()))
        self.refused(['hw_cpu_policy'], flavor,
                     image(hw_cpu_policy='dedicated'),
                     check=admission.check_image)
