# SPDX-License-Identifier: Apache-2.0

"""Tests which vCPUs of a server have the reservation."""

from nova import objects

from nova_rt.rules import exception
from nova_rt.services.compute import vcpus
from tests.unit import base

MASK = 'hw:cpu.rt_mask'


def cell(shared, dedicated=()):
    return objects.InstanceNUMACell(
        id=0, cpuset=set(shared), pcpuset=set(dedicated), memory=64)


class SplitTest(base.TestCase):

    def split(self, specs, *cells):
        topology = objects.InstanceNUMATopology(cells=list(cells))
        return vcpus.split(base.flavor(specs, vcpus=4),
                           topology if cells else None)

    def test_all(self):
        self.assertEqual(vcpus.Split(4), self.split({}))

    def test_a_soft_reservation(self):
        kind = 'hw:cpu.rt_reservation'
        self.assertEqual(vcpus.Split(4), self.split({kind: 'hard'}))
        soft = self.split({kind: 'soft'})
        self.assertEqual(vcpus.Split(4, (), frozenset(['soft'])), soft)
        self.assertTrue(soft.is_soft)
        self.assertRaises(exception.InvalidReservation, self.split,
                          {kind: 'fair'})

    def test_a_topology(self):
        self.assertEqual(
            vcpus.Split(4, (), frozenset(['numa'])),
            self.split({}, cell((0, 1)), cell((2, 3))))

    def test_dedicated_pcpus(self):
        for specs, reserved, unreserved in (
                ({}, 2, (0, 3)), ({MASK: '^1'}, 1, (0, 1, 3)),
                ({MASK: '^0'}, 2, (0, 3))):
            self.assertEqual(
                vcpus.Split(reserved, unreserved,
                            frozenset(['mask', 'numa'])),
                self.split(specs, cell((1,), (0,)), cell((2,), (3,))))
