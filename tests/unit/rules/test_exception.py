# SPDX-License-Identifier: Apache-2.0

"""Tests that messages are built from named arguments."""

from oslotest import base

from nova_rt.rules import exception


class RTErrorTest(base.BaseTestCase):

    def test_message(self):
        error = exception.InvalidConfiguration(
            option='rt_cpus', value='9', rule='there is no such CPU')
        self.assertEqual(
            'Invalid [nova_rt] rt_cpus = 9: there is no such CPU.',
            str(error))

    def test_missing_argument_is_not_swallowed(self):
        self.assertRaises(
            KeyError, exception.InvalidConfiguration, option='rt_cpus')

    def test_clause(self):
        for said, clause in (('Two\n lines.', 'Two lines'), ('', ''),
                             (ValueError('no. 1 ...'), 'no. 1 ')):
            self.assertEqual(clause, exception.clause(said))

    def test_all_have_one_base(self):
        kinds = [kind for kind in vars(exception).values()
                 if isinstance(kind, type)
                 and kind.__module__ == exception.__name__]
        self.assertEqual([], [kind for kind in kinds
                              if not issubclass(kind, exception.RTError)])
