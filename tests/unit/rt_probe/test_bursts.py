# SPDX-License-Identifier: Apache-2.0

"""The estimates that follow from bursts; the bursts are given as traces."""

from unittest import mock

from oslotest import base

from rt_probe import bursts
from rt_probe import spin
from tests.unit.rt_probe import test_gaps

_MS = 1_000_000
ORDER = spin.Order(False, 100 * _MS, 4 * _MS, None)


def trace(share, stopped='', stolen_ms=None, blind_ms=0):
    return spin.Trace(
        tuple(test_gaps.ends(0, 100, 200, 300, share=share)),
        round(share * 400 * _MS), round(share * 400 * _MS), 400 * _MS,
        stopped, None if stolen_ms is None else stolen_ms * _MS,
        blind_ms * _MS)


class BurstsTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.bursts = bursts.Bursts(0.01)

    def take(self, *traces):
        with mock.patch.object(spin.Burst, 'run', side_effect=traces):
            return [self.bursts.take(ORDER) for _ in traces]

    def test_median(self):
        self.take(*map(trace, (0.3, 0.31, 0.29, 0.305, 0.32)))
        found = self.bursts.known.estimate
        self.assertAlmostEqual(0.305, found.available)
        self.assertLess(found.lower, 0.29)
        self.assertGreater(found.upper, 0.32)

    def test_the_last_five(self):
        self.take(*map(trace, (0.30,) * 5 + (0.31,) * 5))
        self.assertAlmostEqual(0.31, self.bursts.known.estimate.available)
        self.assertEqual(5, self.bursts.count)

    def test_halved(self):
        told = self.take(*map(trace, (0.6, 0.6, 0.3)))
        self.assertEqual([None, None], told[:2])
        self.assertAlmostEqual(0.6, told[2])
        self.assertAlmostEqual(0.3, self.bursts.known.estimate.available)

    def test_stopped_tells_nothing(self):
        self.take(trace(0.3, 'the VNF became busy'))
        self.assertIsNone(self.bursts.known)
        self.assertEqual('the VNF became busy', self.bursts.reason)

    def test_gaps_of_a_machine_agree_with_steal(self):
        for stolen_ms in (16, 20, 24):
            self.bursts.clear()
            self.take(trace(0.3, stolen_ms=stolen_ms))
            self.assertAlmostEqual(0.3, self.bursts.known.estimate.available)

    def test_a_hypervisor_without_steal(self):
        """QEMU without KVM: bursts told 0.68, 0.49 and 0.13 of 0.4."""
        self.take(trace(0.3, stolen_ms=0))
        self.assertIsNone(self.bursts.known)
        self.assertIn('reported no steal during a burst', self.bursts.reason)

    def test_gaps_that_are_work_of_others(self):
        for stolen_ms in (10, 240):
            self.take(trace(0.9, stolen_ms=stolen_ms))
            self.assertIsNone(self.bursts.known)
            self.assertIn('the gaps of a burst last 20 ms, but the hypervisor '
                          f'reported {stolen_ms} ms of steal',
                          self.bursts.reason)

    def test_gaps_that_were_not_seen(self):
        """The CPU was taken while the burst evaluated its gaps."""
        self.take(trace(0.3, stolen_ms=60, blind_ms=40))
        self.assertAlmostEqual(0.3, self.bursts.known.estimate.available)

    def test_no_grid(self):
        self.take(spin.Trace((), 100 * _MS, 100 * _MS, 100 * _MS))
        self.assertIn('did not run out often enough', self.bursts.reason)

    def due(self, *traces):
        """Returns the checks of the bursts that were due, and the change."""
        with mock.patch.object(spin, 'Burst') as made:
            made.return_value.run.side_effect = traces
            told = self.bursts.take_due(ORDER)
        self.assertEqual(len(traces), made.call_count)
        return [call.args[0].check for call in made.call_args_list], told

    def test_load(self):
        """A burst of 400 ms is 1 % of the available time in 40 s.

        A check may come earlier, and uses a part of that load.
        """
        checked = spin.Trace((), 50 * _MS, 60 * _MS, 200 * _MS)
        whole, checks = [0], 0
        with mock.patch.object(bursts.time, 'monotonic_ns') as clock:
            clock.return_value = 0
            self.take(trace(0.3))
            while len(whole) < 6:
                clock.return_value += 100 * _MS
                if not self.bursts.due(0):
                    continue
                if self.bursts._load.debt_ns(clock.return_value):
                    (check,), _ = self.due(checked)
                    self.assertAlmostEqual(0.3, check.available)
                    checks += 1
                else:
                    self.assertEqual(([None], None), self.due(trace(0.3)))
                    whole.append(clock.return_value // _MS)
        self.assertLess(5, checks)
        # What is spent: whole ones, and a sixth of a second for each check.
        spent = 5 * 400 + checks * 50 / 0.3
        self.assertLessEqual(0.98 * spent, 0.01 * whole[-1])

    def test_load_where_checks_are_wrong(self):
        little = spin.Trace((), 30 * _MS, 30 * _MS, 300 * _MS)
        spent = 0
        with mock.patch.object(bursts.time, 'monotonic_ns') as clock:
            clock.return_value = 0
            self.take(trace(0.6))
            while spent < 20 * (50 + 400):
                clock.return_value += 100 * _MS
                if not self.bursts.due(0):
                    continue
                if self.bursts._load.debt_ns(clock.return_value):
                    self.due(little, trace(0.6))
                    spent += 50 + 400
                else:
                    self.due(trace(0.6))
                    spent += 400
        self.assertLessEqual(spent, 0.01 * clock.return_value // _MS + 450)

    def test_a_check_that_finds_too_little(self):
        self.take(trace(0.6))
        little = spin.Trace((), 30 * _MS, 30 * _MS, 300 * _MS)
        (check, whole), told = self.due(little, trace(0.3))
        self.assertIsNotNone(check)
        self.assertIsNone(whole)
        self.assertAlmostEqual(0.6, told)
        self.assertAlmostEqual(0.3, self.bursts.known.estimate.available)

    def test_a_check_alone_says_nothing(self):
        """A check that is wrong: somebody else may have had the CPU."""
        self.take(trace(0.6))
        little = spin.Trace((), 30 * _MS, 30 * _MS, 300 * _MS)
        _, told = self.due(little, trace(0.6))
        self.assertIsNone(told)

    def test_a_check_is_stopped(self):
        self.take(trace(0.6))
        _, told = self.due(spin.Trace(
            (), 30 * _MS, 30 * _MS, 300 * _MS, 'the VNF became busy'))
        self.assertIsNone(told)

    def test_not_while_the_vnf_uses_most_of_it(self):
        self.take(trace(0.3))
        with mock.patch.object(bursts.time, 'monotonic_ns',
                               return_value=10 ** 18):
            self.assertFalse(self.bursts.due(0.25))
            self.assertTrue(self.bursts.due(0.15))

    def test_clear(self):
        self.take(trace(0.3))
        self.bursts.clear()
        self.assertIsNone(self.bursts.known)
