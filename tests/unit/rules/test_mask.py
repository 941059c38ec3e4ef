# SPDX-License-Identifier: Apache-2.0

"""Tests which vCPUs a mask leaves without a reservation."""

import hypothesis
from hypothesis import strategies as st
from nova.virt import hardware
from oslotest import base

from nova_rt.rules import exception
from nova_rt.rules import mask
from nova_rt.rules import reservation
from tests.unit import base as unit

_NUMBERS = st.integers(0, 9)
_ELEMENTS = st.one_of(
    _NUMBERS.map(str),
    st.tuples(_NUMBERS, _NUMBERS).map(lambda pair: f'{pair[0]}-{pair[1]}'))
_MASKS = st.lists(
    st.tuples(st.sampled_from(('', '^')), _ELEMENTS).map(''.join),
    min_size=1, max_size=4).map(','.join)


def unreserved(text, vcpus=4):
    return mask.unreserved({reservation.MASK_KEY: text}, vcpus)


class MaskTest(base.BaseTestCase):

    def refusal(self, text, vcpus=4):
        return str(self.assertRaises(
            exception.InvalidReservation, unreserved, text, vcpus))

    def test_without_a_mask_every_vcpu_is_reserved(self):
        self.assertEqual((), mask.unreserved({}, 4))

    def test_a_mask_excludes_or_names(self):
        self.assertEqual((0,), unreserved('^0'))
        self.assertEqual((0, 3), unreserved('^0,^3'))
        self.assertEqual((0,), unreserved('1-3'))
        self.assertEqual((0, 2), unreserved('1-3,^2'))
        self.assertEqual((0, 1), unreserved('^0-1'))

    @hypothesis.given(_MASKS, st.integers(1, 10))
    @unit.PROPERTY
    def test_the_grammar_is_novas(self, text, vcpus):
        """Nova's get_realtime_cpu_constraint reads a mask like this."""
        rule = f'0-{vcpus - 1},{text}' if text.startswith('^') else text
        try:
            named = hardware.parse_cpu_spec(rule)
        except Exception:
            named = set()
        every = set(range(vcpus))
        try:
            left = unreserved(text, vcpus)
        except exception.InvalidReservation:
            # Nova lets a mask exclude vCPUs that the server does not have.
            numbers = map(int, text.replace('^', '').replace(
                ',', '-').split('-'))
            self.assertTrue(not named or named >= every or not named <= every
                            or max(numbers) >= vcpus)
        else:
            self.assertEqual(every - named, set(left))
            self.assertTrue(left)

    @hypothesis.given(st.text() | st.none() | st.integers(),
                      st.integers(1, 10))
    @unit.PROPERTY
    def test_anything_else_is_refused_in_one_sentence(self, value, vcpus):
        try:
            unreserved(value, vcpus)
        except exception.InvalidReservation as error:
            self.assertNotIn('\n', str(error))

    def test_refusals_name_key_value_rule_and_what_to_do(self):
        for text, vcpus, rule in (
                ('^0', 1, 'it leaves no vCPU with the reservation; give for '
                 'example ^0 for every vCPU but the first one, or 1-3.'),
                ('^0-3', 4, 'it leaves no vCPU'),
                ('0-3', 4, 'it names every vCPU of the flavor (4); remove '
                 'the key: without it the reservation is for every vCPU.'),
                ('0', 1, 'it names every vCPU of the flavor (1)'),
                ('1-4', 4, 'the flavor has no vCPU 4: its vCPUs are 0-3; name '
                 'only vCPUs of the flavor.'),
                ('^7', 4, 'the flavor has no vCPU 7'),
                ('3-1', 4, 'the range 3-1 ends before it begins; give'),
                ('0-99999999999', 4, 'it is not a list of vCPUs; give'),
                ('x', 4, 'it is not a list of vCPUs'),
                ('', 4, 'it is not a list of vCPUs'),
                ('1,', 4, 'it is not a list of vCPUs'),
                ('\u0663', 4, 'it is not a list of vCPUs'),
                (3, 4, 'it is not a list of vCPUs')):
            self.assertIn(
                f'Invalid flavor extra spec hw:cpu.rt_mask={text!r}: {rule}',
                self.refusal(text, vcpus))
