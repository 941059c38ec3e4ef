# SPDX-License-Identifier: Apache-2.0

"""Tests that Nova validates our extra specs one by one."""

from nova.api.validation.extra_specs import validators
from nova import exception as nova_exception
from oslotest import base

from nova_rt.rules import reservation

KEYS = tuple('hw:' + key for key in reservation.KEYS)


class ExtraSpecsTest(base.BaseTestCase):
    """Through Nova's own table, which the entry point fills."""

    def test_good_values(self):
        for key in KEYS:
            for value in ('2', '100000', '4194304'):
                self.assertIsNone(validators.validate(key, value))

    def test_bad_values(self):
        for key in KEYS:
            for value in ('abc', '', '1.5', '0', '1', '-5', '4194305'):
                self.assertRaises(nova_exception.ValidationError,
                                  validators.validate, key, value)

    def test_what_hints_may_ask_for(self):
        key = reservation.HINT_SHARE_KEY
        for value in ('0', '0.5', '1'):
            self.assertIsNone(validators.validate(key, value))
        for value in ('', '2', 'x', '0.5x', '-1'):
            self.assertRaises(nova_exception.ValidationError,
                              validators.validate, key, value)

    def test_a_mask(self):
        key = reservation.MASK_KEY
        for value in ('^0', '1-3', '0,2-3,^2'):
            self.assertIsNone(validators.validate(key, value))
        for value in ('', '^', 'x', '1-', '1,', '0-999999'):
            self.assertRaises(nova_exception.ValidationError,
                              validators.validate, key, value)

    def test_workload(self):
        for key, good, bad in (
                ('hw:cpu.vnf_type', ('II', 'dpi-2.1', 'x' * 32),
                 ('', 'a b', 'x' * 33, 'a/b')),
                ('hw:cpu.app_class', ('cpu', 'io', 'ultra-io'),
                 ('', 'CPU', 'disk'))):
            for value in good:
                self.assertIsNone(validators.validate(key, value))
            for value in bad:
                self.assertRaises(nova_exception.ValidationError,
                                  validators.validate, key, value)

    def test_unknown_key_is_still_refused(self):
        self.assertRaises(nova_exception.ValidationError,
                          validators.validate, 'hw:cpu.rt_budget_us', '5')

    def test_both_have_a_description(self):
        for key in KEYS:
            self.assertIn('us``', validators.VALIDATORS[key].description)
