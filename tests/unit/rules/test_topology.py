# SPDX-License-Identifier: Apache-2.0

"""Tests that Nova sees the same topology in a flavor as nova-rt."""

import itertools

from nova import exception as nova_exception
from nova import objects
from nova.scheduler import utils as scheduler_utils
from nova.virt import hardware

from nova_rt.rules import topology
from tests.unit import base

_VALUES = {
    'hw:numa_nodes': ('1', '2'),
    'hw:mem_page_size': ('large',),
    'hw:cpu_policy': ('shared', 'mixed'),
    'hw:cpu_dedicated_mask': ('0', '^0', '1-3', '^0-2'),
    'hw:emulator_threads_policy': ('share', 'isolate'),
    'hw:pci_numa_affinity_policy': ('required',)}


def all_specs():
    for values in itertools.product(*(
            (None, *each) for each in _VALUES.values())):
        yield {key: value for key, value in zip(_VALUES, values, strict=True)
               if value is not None}


def flavor(specs):
    return objects.Flavor(id=1, flavorid='1', name='f', vcpus=4,
                          memory_mb=64, root_gb=1, ephemeral_gb=0, swap=0,
                          extra_specs=specs, is_public=True)


class TopologyTest(base.TestCase):

    def test_as_nova_sees_it(self):
        image = objects.ImageMeta.from_dict({})
        accepted = 0
        for specs in all_specs():
            try:
                found = hardware.numa_get_constraints(flavor(specs), image)
            except nova_exception.NovaException:
                continue  # Nova refuses the flavor.
            accepted += 1
            self.assertEqual(found is not None, topology.is_wanted(specs))
            self.assertEqual(
                {vcpu for cell in (found.cells if found else ())
                 for vcpu in cell.pcpuset}, topology.dedicated(specs, 4))
            asked = scheduler_utils.ResourceRequest.from_request_spec(
                objects.RequestSpec(flavor=flavor(specs), image=image)
            ).merged_resources()
            self.assertEqual(
                {name: amount for name, amount in asked.items()
                 if name in ('VCPU', 'PCPU')},
                topology.placement_amounts(specs, 4), specs)
        self.assertGreater(accepted, 100)
