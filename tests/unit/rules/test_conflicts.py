# SPDX-License-Identifier: Apache-2.0

"""What is tested here: what a reservation cannot be combined with."""

from nova import objects
from oslotest import base

from nova_rt.rules import conflicts
from nova_rt.rules import exception
from tests.unit import base as unit

SPECS = unit.extra_specs(100_000, 200_000)


class ConflictTest(base.BaseTestCase):

    def refused(self, words, *args):
        error = self.assertRaises(exception.InvalidReservation,
                                  conflicts.check, *args)
        for word in words:
            self.assertIn(word, str(error))

    def test_dedicated_pcpus(self):
        for policy in ('dedicated', 'mixed'):
            self.refused([f"hw:cpu_policy='{policy}'", 'shared pCPUs'],
                         {'hw:cpu_policy': policy})
            self.refused([f"image property hw_cpu_policy='{policy}'"], {},
                         {'hw_cpu_policy': policy})
        for group in ('', '1', '_of-mine'):
            self.refused([f"resources{group}:PCPU='1'"],
                         {f'resources{group}:PCPU': '1'})

    def test_realtime(self):
        for value in ('yes', 'True', ' 1 ', 'on'):
            self.refused([f'hw:cpu_realtime={value!r}'],
                         {'hw:cpu_realtime': value})

    def test_no_conflict(self):
        self.assertIsNone(conflicts.check(
            SPECS | {'hw:cpu_policy': 'shared', 'hw:cpu_realtime': 'no'},
            {'hw_cpu_policy': None}))

    def test_numa(self):
        for key in ('numa_nodes', 'mem_page_size',
                    'pci_numa_affinity_policy'):
            self.refused([f"flavor extra spec hw:{key}='1'", 'NUMA cell'],
                         {f'hw:{key}': '1'})
            self.refused([f"image property hw_{key}='1'", 'NUMA cell'], {},
                         {f'hw_{key}': '1'})
        self.refused(["hw:pmem='6GB'"], {'hw:pmem': '6GB'})

    def test_an_image(self):
        image = objects.ImageMeta(properties=objects.ImageMetaProps(
            hw_numa_nodes=1))
        self.refused(['hw_numa_nodes=1'], {},
                     conflicts.image_properties_of(image))

    def test_an_image_that_says_nothing(self):
        image = objects.ImageMeta(properties=objects.ImageMetaProps())
        for each in (image, None):
            self.assertIsNone(conflicts.check(
                {}, conflicts.image_properties_of(each)))
