# SPDX-License-Identifier: Apache-2.0

from oslotest import base

from rt_probe import closer

_MS, _S = 1_000_000, 1_000_000_000
_PERIOD, _USUAL = 100 * _MS, 500 * _MS


class CloserTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.closer = closer.Closer(_USUAL)
        self.note(0, False)

    def note(self, at_s, waits, known=False):
        self.closer.note(at_s * _S, waits, known)
        return self.closer.pause_ns(_PERIOD)

    def test_usual(self):
        self.assertEqual(_USUAL, self.note(1, False))
        self.assertEqual(_USUAL, self.note(2, False, known=True))

    def test_soon_and_few(self):
        self.assertEqual([_PERIOD] * 5 + [_USUAL], [
            self.note(20, True) for _ in range(6)])

    def test_what_may_just_have_begun(self):
        self.assertTrue(self.closer.begun)
        self.note(20, True)
        self.assertTrue(self.closer.begun)
        self.note(20, True, known=True)
        self.assertFalse(self.closer.begun)

    def test_until_it_is_known(self):
        self.assertEqual(_PERIOD, self.note(20, True))
        self.assertEqual(_USUAL, self.note(20, True, known=True))

    def test_who_always_waits_costs_nothing(self):
        for at in range(20, 26):
            self.note(at, True)
        self.assertEqual(_USUAL, self.note(100, True))

    def test_who_waits_now_and_then_costs_little(self):
        found = [self.note(at, waits) for at in range(20, 40)
                 for waits in (False, True)]
        self.assertEqual(2 * 5, found.count(_PERIOD))

    def test_first_reading(self):
        """The first reading does not show whether the thread waited before."""
        found = closer.Closer(_USUAL)
        found.note(20 * _S, True, known=False)
        self.assertEqual(_USUAL, found.pause_ns(_PERIOD))

    def test_no_shorter_than_a_period_and_no_longer_than_usual(self):
        self.note(20, True)
        self.assertEqual(200 * _MS, self.closer.pause_ns(200 * _MS))
        self.assertEqual(100 * _MS, self.closer.pause_ns(10 * _MS))
        self.assertEqual(_USUAL, self.closer.pause_ns(1000 * _MS))
