# SPDX-License-Identifier: Apache-2.0

"""rt_monitor.power and rapl: no energy is lost, and none is invented."""

import pathlib
import tempfile
import unittest

import hypothesis
from hypothesis import strategies as st

from nova_rt.machine.host import files as host_files
from nova_rt.rules import exception
from rt_monitor import power
from rt_monitor import rapl
from tests.unit import base

MOST = 262_143_328_850
WORK = st.dictionaries(
    st.sampled_from(['u1', 'u2', power.HOST, power.IDLE]),
    st.dictionaries(st.integers(0, 3), st.floats(0, 1e6), max_size=4))


class EquationsTest(unittest.TestCase):

    def test_beside_a_busy_thread_cycles_count_less(self):
        self.assertEqual(100, power.weighted(100, 0))
        # Two threads of a core: together 1.1 of what one does alone.
        self.assertAlmostEqual(110, 2 * power.weighted(0, 100))
        self.assertAlmostEqual(75 + 25 * 0.6, power.weighted(75, 25, 1.2))

    def test_shares(self):
        self.assertEqual({'u1': 300, power.HOST: 100, power.IDLE: 600},
                         power.share_out(1000, {
                             'u1': 3, power.HOST: 1, power.IDLE: 6}))

    def test_nobody_did_anything(self):
        self.assertEqual({power.IDLE: 1000}, power.share_out(1000, {}))
        self.assertEqual({'u1': 0, power.IDLE: 7},
                         power.share_out(7, {'u1': 0}))

    def test_a_meter_that_begins_anew(self):
        self.assertEqual(5, power.spent_uj(10, 15, MOST))
        self.assertEqual(15, power.spent_uj(MOST - 10, 5, MOST))

    def test_idle(self):
        self.assertEqual({0: 7.0, 1: 10.0, 2: 0.0}, power.idle(
            10.0, range(3), [{0: 1.0, 2: 9.0}, {0: 2.0, 2: 1.5}]))

    @hypothesis.given(st.integers(0, MOST), st.dictionaries(
        st.text(max_size=3) | st.just(power.IDLE),
        st.floats(0, 1e15), max_size=8))
    @base.PROPERTY
    def test_all_of_it_is_shared_out(self, energy, weights):
        found = power.share_out(energy, weights)
        self.assertEqual(energy, sum(found.values()))
        self.assertLessEqual(-len(weights), min(found.values()))


class AccountTest(unittest.TestCase):

    def test_two_sockets(self):
        account = power.Account({0: 100, 1: MOST - 50}, {0: MOST, 1: MOST},
                                {0: 0, 1: 0, 2: 1, 3: 1})
        account.update({0: 1100, 1: 50}, {
            'u1': {0: 1.0, 1: 1.0}, 'u2': {1: 2.0, 2: 3.0},
            power.IDLE: {2: 1.0}})
        # 1000 uJ of the first socket by halves, 100 of the other.
        self.assertEqual({'u1': 500, 'u2': 575, power.IDLE: 25},
                         account.parts)
        # Only what is new counts: here all of it is of u1.
        account.update({0: 1110, 1: 50}, {
            'u1': {0: 2.0, 1: 1.0}, 'u2': {1: 2.0, 2: 3.0},
            power.IDLE: {2: 1.0}})
        self.assertEqual({'u1': 510, 'u2': 575, power.IDLE: 25},
                         account.parts)

    @hypothesis.given(st.lists(st.tuples(
        st.integers(0, MOST - 1), st.integers(0, MOST - 1), WORK),
        max_size=5))
    @base.PROPERTY
    def test_attributed_and_idle_is_what_was_measured(self, looks):
        account = power.Account({0: 0, 1: 0}, {0: MOST, 1: MOST},
                                {0: 0, 1: 0, 2: 1, 3: 1})
        spent = 0
        before = (0, 0)
        for *now, work in looks:
            account.update(dict(enumerate(now)), work)
            spent += sum(power.spent_uj(one, other, MOST)
                         for one, other in zip(before, now, strict=True))
            before = now
        self.assertEqual(spent, sum(account.parts.values()))


class RaplTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.host = host_files.Host(folder.name)

    def put(self, path, text):
        file = self.root / 'sys' / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def zone(self, name, kind, energy_uj):
        for file, value in (('name', kind), ('energy_uj', energy_uj),
                            ('max_energy_range_uj', MOST)):
            self.put(f'class/powercap/{name}/{file}', f'{value}\n')

    def test_no_meters(self):
        with self.assertRaisesRegex(exception.CannotMonitor, 'not exist'):
            rapl.Power(self.host)
        self.zone('intel-rapl:1', 'psys', 4)
        with self.assertRaisesRegex(
                exception.CannotMonitor, 'no meter of a socket'):
            rapl.Power(self.host)

    def test_nonsense(self):
        self.zone('intel-rapl:0', 'package-0', 1)
        self.put('class/powercap/intel-rapl:0/max_energy_range_uj', 'x')
        with self.assertRaisesRegex(exception.CannotMonitor, 'RAPL'):
            rapl.Power(self.host)

    def test_sockets_and_their_parts(self):
        self.zone('intel-rapl:0', 'package-0', 1_000)
        self.zone('intel-rapl:0:0', 'core', 900)
        self.zone('intel-rapl:1', 'psys', 5_000)
        self.put('devices/system/cpu/cpu0/topology/physical_package_id', '0')
        found = rapl.Power(self.host)
        self.addCleanup(found.close)
        self.put('class/powercap/intel-rapl:0/energy_uj', '3000')
        self.assertEqual(
            {'u1': 500, power.HOST: 500, power.IDLE: 1_000},
            found.read(8.0, {'u1': {0: 2.0}, power.HOST: {0: 2.0}}))
        # By cycles, where idleness has its own.
        self.put('class/powercap/intel-rapl:0/energy_uj', '3300')
        self.assertEqual(
            {'u1': 700, power.HOST: 500, power.IDLE: 1_100},
            found.read(9.0, {'u1': {0: 4.0}, power.HOST: {0: 2.0},
                             power.IDLE: {0: 5.0}}))
