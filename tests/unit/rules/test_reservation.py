# SPDX-License-Identifier: Apache-2.0

"""Tests parsing, overlaying and validating reservations."""

import fractions
import math

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import exception
from nova_rt.rules import reservation
from tests.unit import base as unit

RUNTIME, PERIOD = reservation.KEYS
SPECS = unit.extra_specs(100_000, 200_000)

BAD_VALUES = (
    'abc', '', '-1', -1, 0, '0', True, False, None, [], {}, [1, 2], [[1]],
    [None], ['1'], [1], {'a': 1}, 1.0, '1.5', ' 1', '1 ', '1\n', '+1',
    '1_0', '0x10', '1e3', '\u0663', 10 ** 18, '9' * 400)

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (st.lists(inner, max_size=3)
                   | st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8)
_NUMBERS = st.integers(1, 5_000_000)
_VALUES = st.one_of(
    _NUMBERS, _NUMBERS.map(str), _JSON)
_HINTS = st.dictionaries(
    st.sampled_from((*reservation.KEYS, 'cpu.rt_x', 'group')) | st.text(),
    _VALUES, max_size=4)
_SPECS = st.dictionaries(
    st.sampled_from(['hw:' + key for key in reservation.KEYS] + ['hw:x']),
    _VALUES)
_SENSIBLE = st.integers(
    reservation.MIN_RUNTIME_US, reservation.MAX_PERIOD_US).flatmap(
        lambda period: st.tuples(
            st.integers(reservation.MIN_RUNTIME_US, period),
            st.just(period)))
_OVERRIDES = st.sampled_from(reservation.HintOverride)


def parse(specs=None, hints=None, **limits):
    return reservation.from_flavor_and_hints(
        specs or {}, hints, reservation.Limits(**limits))


class MaskTest(base.BaseTestCase):
    """A mask needs a reservation, of the flavor or of hints."""

    def test_a_mask_with_a_reservation(self):
        mask = {reservation.MASK_KEY: '^0'}
        self.assertEqual(parse(SPECS), parse(SPECS | mask))
        self.assertEqual(parse(SPECS), parse(
            mask, {RUNTIME: 100_000, PERIOD: 200_000}))

    def test_a_mask_without_a_reservation(self):
        error = self.assertRaises(
            exception.InvalidReservation, parse,
            {reservation.MASK_KEY: '^0'})
        self.assertEqual(
            "Invalid flavor extra spec hw:cpu.rt_mask='^0': the flavor and "
            'the hints ask for no reservation; also give '
            'hw:cpu.rt_runtime_us and hw:cpu.rt_period_us, or remove this '
            'key.', str(error))


class ReservationTest(base.BaseTestCase):

    def test_bandwidth_is_rounded_up(self):
        self.assertEqual(500_000, reservation.Reservation(1, 2).bandwidth)
        self.assertEqual(333_334, reservation.Reservation(1, 3).bandwidth)

    def test_text_has_three_digits(self):
        self.assertEqual('2 us every 3 us (share 0.667)',
                         str(reservation.Reservation(2, 3)))

    @hypothesis.given(_NUMBERS, _NUMBERS)
    @unit.PROPERTY
    def test_bandwidth_is_the_least_that_is_enough(self, runtime, period):
        exact = fractions.Fraction(runtime * 1_000_000, period)
        self.assertEqual(
            math.ceil(exact),
            reservation.Reservation(runtime, period).bandwidth)


class OverlayTest(base.BaseTestCase):

    def test_flavor_alone(self):
        self.assertEqual(reservation.Reservation(100_000, 200_000),
                         parse(SPECS))

    def test_hints_alone(self):
        self.assertEqual(reservation.Reservation(1, 2),
                         parse({}, {RUNTIME: 1, PERIOD: '2'}, min_period_us=2,
                               min_runtime_us=1))

    def test_hint_wins_per_key(self):
        self.assertEqual(reservation.Reservation(50_000, 200_000),
                         parse(SPECS, {RUNTIME: '50000'}))
        self.assertEqual(reservation.Reservation(100_000, 400_000),
                         parse(SPECS, {PERIOD: '400000'}))

    def test_nothing_asked(self):
        self.assertIsNone(parse())
        self.assertIsNone(parse({'hw:cpu_policy': 'shared'}, {}))

    def test_other_hints_are_not_ours(self):
        self.assertIsNone(parse({}, {'group': None, 'cpu': 'x', '': 1}))


class RefusalTest(base.BaseTestCase):

    def refused(self, words, *args, **kwargs):
        error = self.assertRaises(exception.InvalidReservation, parse,
                                  *args, **kwargs)
        for word in words:
            self.assertIn(word, str(error))
        self.assertNotIn('\n', str(error))

    def test_the_sentence(self):
        self.refused(
            ["Invalid scheduler hint cpu.rt_runtime_us='abc': it must "
             "be a positive whole number of microseconds; give for example "
             "100000 for 100 ms."], SPECS, {RUNTIME: 'abc'})

    def test_bad_values(self):
        for value in BAD_VALUES:
            shown = repr(value)[:80]
            for key in reservation.KEYS:
                self.refused(['hint', f'{key}={shown}: '], SPECS,
                             {key: value})
                self.refused(['flavor', f'hw:{key}={shown}: '],
                             SPECS | {'hw:' + key: value})

    def test_long_value_is_cut(self):
        error = self.assertRaises(
            exception.InvalidReservation, parse, {}, {RUNTIME: 'x' * 9999})
        self.assertLess(len(str(error)), 300)

    def test_unknown_key(self):
        self.refused(['cpu.rt_budget_us=1', 'no such hint', RUNTIME, PERIOD],
                     SPECS, {'cpu.rt_budget_us': 1})

    def test_one_without_the_other(self):
        for key, other in (reservation.KEYS, reservation.KEYS[::-1]):
            self.refused([f'{key}=5000', f'gives {other}'], {}, {key: 5000})
            self.refused([f'hw:{key}=5000', f'gives {other}'],
                         {'hw:' + key: 5000})

    def test_runtime_above_period(self):
        self.refused([f'{RUNTIME}=200001', 'more than the period of 200000'],
                     SPECS, {RUNTIME: 200_001})
        self.assertIsNotNone(parse(SPECS, {RUNTIME: 200_000}))

    def test_least_runtime(self):
        self.refused([f'{RUNTIME}=99', '100 us'], SPECS, {RUNTIME: 99},
                     min_runtime_us=100)
        self.assertIsNotNone(
            parse(SPECS, {RUNTIME: 100}, min_runtime_us=100))

    def test_period_limits(self):
        hints = {RUNTIME: 10}
        for period, fine in ((99, False), (100, True), (300, True),
                             (301, False)):
            args = ({}, hints | {PERIOD: period})
            limits = {'min_period_us': 100, 'max_period_us': 300}
            if fine:
                self.assertIsNotNone(parse(*args, **limits))
            else:
                self.refused([f'{PERIOD}={period}', '100 to 300 us'], *args,
                             **limits)

    def test_kernel_limits_without_limits_of_the_operator(self):
        for runtime, period in ((1, 1000), (2, 4_194_305)):
            self.assertRaises(
                exception.InvalidReservation,
                reservation.from_flavor_and_hints,
                unit.extra_specs(runtime, period))
        self.assertIsNotNone(reservation.from_flavor_and_hints(
            unit.extra_specs(2, 4_194_304)))

    def test_maximum_share(self):
        self.refused([f'hw:{RUNTIME}=100000', '0.500', '0.499'], SPECS,
                     max_bandwidth=499_000)
        self.assertIsNotNone(parse(SPECS, max_bandwidth=500_000))

    def test_no_hints_allowed(self):
        self.refused([f'{RUNTIME}=1', 'does not accept'], SPECS,
                     {RUNTIME: '1'},
                     hint_override=reservation.HintOverride.NONE)
        self.assertIsNotNone(parse(
            SPECS, {'group': 'g'},
            hint_override=reservation.HintOverride.NONE))

    def test_hints_may_only_lower(self):
        lower = {'hint_override': reservation.HintOverride.LOWER}
        self.refused([f'{RUNTIME}=150000', '0.750', '0.500'], SPECS,
                     {RUNTIME: 150_000}, **lower)
        self.refused([f'{PERIOD}=100000', '1.000', '0.500'], SPECS,
                     {PERIOD: 100_000}, **lower)
        self.assertEqual(
            reservation.Reservation(200_000, 400_000),
            parse(SPECS, {RUNTIME: 200_000, PERIOD: 400_000}, **lower))


class CeilingTest(base.BaseTestCase):
    """Tests how much a hint may ask for."""

    PLAIN = {RUNTIME: 1000, PERIOD: 2000}

    def refused(self, words, specs, hints, **limits):
        error = self.assertRaises(exception.InvalidReservation, parse, specs,
                                  hints, **limits)
        self.assertIn(words, str(error))

    def test_a_plain_flavor_takes_hints_where_the_operator_says_so(self):
        for override in ('any', 'lower'):
            limits = {'hint_override': reservation.HintOverride(override)}
            self.assertIsNotNone(parse({}, self.PLAIN, **limits))
            self.refused(
                'a hint counts only on a flavor that has a reservation or '
                'takes hints, and this flavor does neither; choose a flavor',
                {}, self.PLAIN, plain_hints=False, **limits)
            self.refused('this flavor does neither',
                         {'hw:' + RUNTIME: '1000'}, {PERIOD: 2000},
                         plain_hints=False, **limits)

    def test_a_flavor_has_its_own_ceiling(self):
        for specs in ({}, SPECS):
            specs = specs | {reservation.HINT_SHARE_KEY: '0.6'}
            for override in ('any', 'lower'):
                limits = {'hint_override':
                          reservation.HintOverride(override),
                          'plain_hints': False}
                self.assertEqual(600_000, parse(specs, {
                    RUNTIME: 60, PERIOD: 100}, **limits).bandwidth)
                self.refused(
                    'it raises the share to 0.610000, which is above the '
                    'share of 0.600000 that hints may ask for on this flavor',
                    specs, {RUNTIME: 61, PERIOD: 100}, **limits)

    def test_a_flavor_takes_no_hints(self):
        for zero in ('0', '0.0'):
            self.refused('this flavor takes no hints', SPECS | {
                reservation.HINT_SHARE_KEY: zero}, {RUNTIME: 1000})

    def test_no_hints_in_the_cloud_is_stronger(self):
        self.refused('this cloud does not accept', SPECS | {
            reservation.HINT_SHARE_KEY: '1'}, {RUNTIME: 1000},
            hint_override=reservation.HintOverride.NONE)

    def test_the_ceiling_does_not_concern_the_flavor(self):
        self.assertIsNotNone(parse(
            SPECS | {reservation.HINT_SHARE_KEY: '0.1'}))

    def test_shares(self):
        for text, ppm in (('0', 0), ('0.5', 500_000), ('0.000001', 1),
                          ('1', 1_000_000), ('1.0', 1_000_000)):
            self.assertEqual(ppm, reservation.hint_share(text))

    def test_bad_shares(self):
        for value in ('', 'x', '2', '1.1', '-0.5', '.5', '0.', '0.1234567',
                      '0.5\n', 0.5, None):
            error = self.assertRaises(exception.InvalidReservation,
                                      reservation.hint_share, value)
            self.assertIn(f'{value!r}: it must be a share', str(error))


class CarriedTest(base.BaseTestCase):
    """Tests which hints go along with a resize."""

    def carried(self, specs, hints, **limits):
        return reservation.carried_hints(
            specs, hints, reservation.Limits(**limits))

    def test_they_go_along(self):
        for hints in ({RUNTIME: 1}, {RUNTIME: 1, PERIOD: 2}, {}):
            self.assertEqual(hints, self.carried(SPECS, hints))

    def test_half_a_reservation(self):
        self.assertEqual({}, self.carried({}, {RUNTIME: 1}))
        both = {RUNTIME: 1, PERIOD: 2}
        self.assertEqual(both, self.carried({}, both))

    def test_a_flavor_that_takes_none(self):
        both = {RUNTIME: 1, PERIOD: 2}
        self.assertEqual({}, self.carried({}, both, plain_hints=False))
        self.assertEqual({}, self.carried(
            SPECS | {reservation.HINT_SHARE_KEY: '0'}, both))
        self.assertEqual({}, self.carried(
            SPECS, both, hint_override=reservation.HintOverride.NONE))


class ParserPropertyTest(base.BaseTestCase):

    @hypothesis.given(_SPECS, _HINTS, _OVERRIDES)
    @unit.PROPERTY
    def test_any_json_is_refused_or_taken_as_given(
            self, specs, hints, override):
        try:
            found = parse(specs, hints, hint_override=override)
        except exception.InvalidReservation:
            return
        given = {key: specs['hw:' + key] for key in reservation.KEYS
                 if 'hw:' + key in specs}
        given |= {key: hints[key] for key in reservation.KEYS
                  if key in hints}
        numbers = {key: int(value) for key, value in given.items()}
        expected = found and {RUNTIME: found.runtime_us,
                              PERIOD: found.period_us}
        self.assertEqual(numbers, expected or {})

    @hypothesis.given(_SENSIBLE, st.integers(0, reservation.PPM))
    @unit.PROPERTY
    def test_every_sensible_pair_is_taken(self, pair, spare):
        runtime, period = pair
        # The least cap, in ppm, that the exact share does not exceed.
        cap = spare + math.ceil(
            fractions.Fraction(runtime * reservation.PPM, period))
        self.assertEqual(
            reservation.Reservation(runtime, period),
            parse({}, {RUNTIME: runtime, PERIOD: str(period)},
                  max_bandwidth=cap))


class StoredHintsTest(base.BaseTestCase):

    def test_lists_of_one_are_opened(self):
        self.assertEqual(
            {'a': '1', 'b': ['1', '2'], 'c': []},
            reservation.stored_hints({'a': ['1'], 'b': ['1', '2'], 'c': []}))

    def test_none(self):
        self.assertEqual({}, reservation.stored_hints(None))


class MessageTest(base.BaseTestCase):

    def test_a_small_difference_shows(self):
        error = self.assertRaises(
            exception.InvalidReservation, parse, SPECS, {RUNTIME: 100_001},
            hint_override=reservation.HintOverride.LOWER)
        self.assertIn('to 0.500005, which is above the share of 0.500000 of',
                      str(error))

    def test_too_many_digits(self):
        error = self.assertRaises(
            exception.InvalidReservation, parse, {}, {RUNTIME: 10 ** 18})
        self.assertIn('it has more than 18 digits', str(error))

    def test_the_hint_is_blamed(self):
        error = self.assertRaises(
            exception.InvalidReservation, parse, SPECS, {PERIOD: 50_000})
        self.assertIn('scheduler hint cpu.rt_period_us=50000: it is less '
                      'than the runtime of 100000', str(error))


class ValueTest(base.BaseTestCase):
    """Tests what readers of descriptors use."""

    def refused(self, text, call, *args):
        error = self.assertRaises(exception.InvalidReservation, call, *args)
        self.assertEqual(text, str(error))

    def test_whole_numbers(self):
        for value in (1, '1', '007', 10 ** 30):
            self.assertTrue(reservation.is_whole_number(value), value)
        for value in BAD_VALUES[:-2]:
            self.assertFalse(reservation.is_whole_number(value), value)

    def test_parse(self):
        for value in (60_000, '60000'):
            self.assertEqual(60_000, reservation.parse('VDU A', RUNTIME,
                                                       value))

    def test_bad_values(self):
        for value in BAD_VALUES:
            self.assertRaises(exception.InvalidReservation,
                              reservation.parse, 'VDU A', RUNTIME, value)

    def test_limits_of_one(self):
        self.refused('Invalid VDU A cpu.rt_runtime_us=1: the shortest runtime '
                     'in this cloud is 2 us; give a longer runtime, and a '
                     'longer period to keep the share.',
                     reservation.parse, 'VDU A', RUNTIME, 1)
        self.refused('Invalid VDU A cpu.rt_period_us=4194305: a period in '
                     'this cloud must be 2 to 4194304 us; give a period in '
                     'that range.',
                     reservation.parse, 'VDU A', PERIOD, '4194305')

    def test_combine(self):
        self.assertEqual(reservation.Reservation(5, 5),
                         reservation.combine('VDU A', 5, 5))
        self.refused('Invalid VDU A cpu.rt_runtime_us=6: it is more than the '
                     'period of 5; give at most the period.',
                     reservation.combine, 'VDU A', 6, 5)
