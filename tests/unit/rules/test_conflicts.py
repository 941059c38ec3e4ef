# SPDX-License-Identifier: Apache-2.0

"""Tests what a reservation cannot be combined with."""

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
        self.refused(["hw:cpu_policy='dedicated'", 'shared pCPUs',
                      'hw:cpu_policy=mixed'], {'hw:cpu_policy': 'dedicated'})
        self.refused(["image property hw_cpu_policy='dedicated'"], {},
                     {'hw_cpu_policy': 'dedicated'})
        self.assertIsNone(conflicts.check(SPECS | {
            'hw:cpu_policy': 'mixed', 'hw:cpu_dedicated_mask': '0'}))
        for group in ('', '1', '_of-mine'):
            self.refused([f"resources{group}:PCPU='1'"],
                         {f'resources{group}:PCPU': '1'})

    def test_emulator_threads(self):
        key = 'hw:emulator_threads_policy'
        for more in ({}, {'hw:cpu_policy': 'shared'}):
            self.refused([f"{key}='isolate'", 'dedicated pCPUs',
                          'use the value share', 'hw:cpu_policy=mixed'],
                         SPECS | more | {key: 'isolate'}, {})
        for specs, image in (
                ({key: 'share'}, {}), ({key: 'isolate'}, None),
                ({key: 'isolate', 'hw:cpu_policy': 'mixed'}, {}),
                ({key: 'isolate'}, {'hw_cpu_policy': 'mixed'})):
            self.assertIsNone(conflicts.check(SPECS | specs, image))

    def test_realtime(self):
        for value in ('yes', 'True', ' 1 ', 'on'):
            self.refused([f'hw:cpu_realtime={value!r}'],
                         {'hw:cpu_realtime': value})

    def test_no_conflict(self):
        self.assertIsNone(conflicts.check(
            SPECS | {'hw:cpu_policy': 'shared', 'hw:cpu_realtime': 'no'},
            {'hw_cpu_policy': None}))

    def test_persistent_memory(self):
        self.refused(["hw:pmem='6GB'", 'persistent memory'],
                     {'hw:pmem': '6GB'})

    def test_numa_cells(self):
        self.assertIsNone(conflicts.check(SPECS | {
            'hw:numa_nodes': '2', 'hw:mem_page_size': 'large',
            'hw:pci_numa_affinity_policy': 'required'}))

    def test_an_image(self):
        image = objects.ImageMeta(properties=objects.ImageMetaProps(
            hw_cpu_policy='dedicated', hw_numa_nodes=1))
        self.refused(["hw_cpu_policy='dedicated'"], {},
                     conflicts.image_properties_of(image))

    def test_an_image_that_says_nothing(self):
        image = objects.ImageMeta(properties=objects.ImageMetaProps())
        for each in (image, None):
            self.assertIsNone(conflicts.check(
                {}, conflicts.image_properties_of(each)))
