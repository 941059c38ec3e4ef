# SPDX-License-Identifier: Apache-2.0

"""Tests what nova-rt sells, on made-up kernels."""

import unittest
from unittest import mock

import ddt

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base
from nova_rt.rules import reservation
from nova_rt.rules import schedulability
from paper.fig8 import pairs
from paper.fig8 import places
from paper import group
from paper import room


@ddt.ddt
class CheckTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.ppm = 950_000
        for target, value in (
                ('survey.hierarchy_of', cgroup.Hierarchy('/x', 'cpu')),
                ('privsep.cgroup_pctxt', mock.Mock()),
                ('deadline.read_other_threads', [])):
            self.replace(target, mock.Mock(return_value=value))
        self.replace('deadline.Admission', lambda *_: mock.Mock(
            ppm=lambda _: self.ppm))

    def replace(self, name, new):
        patch = mock.patch(f'paper.fig8.places.{name}', new)
        patch.start()
        self.addCleanup(patch.stop)

    def deadline(self, name):
        pair = pairs.PAIRS[name]
        return places.Deadline().check(pair.server, pair.noise)

    def groups(self, name, capacity, place=places.Groups):
        interface = mock.Mock(spec=base.KernelInterface)
        interface.name = 'x'
        interface.capacity.return_value = capacity
        self.replace('room.interface', lambda: interface)
        pair = pairs.PAIRS[name]
        return place().check(pair.server, pair.noise)

    def test_a_pair_that_fits(self):
        self.assertEqual(950_000, self.deadline('paper'))
        self.ppm = 900_001
        self.assertEqual(900_001, self.deadline('smaller'))

    def test_a_pair_that_is_not_sold_is_not_measured(self):
        self.ppm = 900_001
        with self.assertRaisesRegex(
                places.NotSold, r'1400/2000 us beside 24000/100000 us .*: '
                'together they are 940000 ppm, and this kernel offers 9000'):
            self.deadline('paper')

    def test_fixed_priorities_keep_only_long_periods(self):
        tick = base.Capacity(950_000, 4000, True, 10_000)
        self.assertEqual(950_000, self.groups('slowest', tick))
        for name in ('paper', 'slower'):
            with self.assertRaisesRegex(places.NotSold, 'in time'):
                self.groups(name, tick)

    def test_a_pair_that_fits_only_divided(self):
        tick = base.Capacity(950_000, 4000, True, 10_000)
        with self.assertRaisesRegex(places.NotSold, 'in time'):
            self.groups('equal', tick)
        self.assertEqual(950_000, self.groups('equal', tick, places.Divided))
        with self.assertRaisesRegex(places.NotSold, 'in time'):
            self.groups('slower', tick, places.Divided)

    def test_a_divided_neighbour(self):
        """A shorter period has the higher priority."""
        place, pair = places.Divided(), pairs.PAIRS['equal']
        self.assertTrue(place.holds(schedulability.FixedPriorities(
            48, 4000, 10_000), pair.server, pair.noise))
        reserved = mock.MagicMock()
        self.replace('group.reserved', reserved)
        with place.noise(pair.noise, ()):
            pass
        (part, *_, priority), _ = reserved.call_args
        self.assertEqual(reservation.Reservation(2400, 10_000), part)
        self.assertEqual(group.HIGHER, priority)

    def test_groups_under_edf(self):
        self.assertEqual(950_000, self.groups(
            'paper', base.Capacity(950_000, 0)))
        with self.assertRaisesRegex(places.NotSold, '900000 ppm'):
            self.groups('paper', base.Capacity(900_000, 0))

    def test_no_budgets_for_groups(self):
        self.replace('room.interface', lambda: None)
        with self.assertRaisesRegex(places.NotSold, 'no budgets'):
            places.Groups().check(pairs.RESERVATION, pairs.RESERVATION)

    def test_others_hold_the_budget(self):
        with self.assertRaisesRegex(room.NoRoom, 'reservations of /x; run'):
            self.groups('paper', base.Capacity(100_000, 0, others=('/x',)))
