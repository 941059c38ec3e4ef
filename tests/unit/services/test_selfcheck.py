# SPDX-License-Identifier: Apache-2.0

"""Tests that another Nova than the tested ones is refused."""

from oslotest import base

from nova_rt.rules import exception
from nova_rt.services import selfcheck

HERE = __name__ + '.Owner.'


class Owner:
    def method(self, first, second):
        """Stands for a method of Nova."""


class SelfCheckTest(base.BaseTestCase):

    def refused(self, words, name, wanted):
        error = self.assertRaises(exception.UnsupportedNova,
                                  selfcheck.verify, [(name, wanted)])
        for word in words:
            self.assertIn(word, str(error))

    def test_the_installed_nova(self):
        self.assertIsNone(selfcheck.verify())
        self.assertIsNone(selfcheck.verify(selfcheck.TESTED_BY_SCHEDULER))
        self.assertIsNone(selfcheck.verify(selfcheck.TESTED_BY_API))

    def test_same(self):
        for wanted in ('self, first, second', 'self, first, ...',
                       'self, first, second, ...'):
            self.assertIsNone(
                selfcheck.verify([(HERE + 'method', wanted)]))

    def test_parameters_differ(self):
        for wanted in ('self, first', 'self, second, first', 'self',
                       'self, first, second, third', 'self, second, ...',
                       'self, first, second, third, ...'):
            self.refused(
                [f'{HERE}method({wanted})', 'has (self, first, second)',
                 'install a tested Nova'], HERE + 'method', wanted)

    def test_gone(self):
        for name in (HERE + 'gone', __name__ + '.Gone.method',
                     'nova.no_such_module.Class.method'):
            self.refused([name, 'has no method'], name, 'self')

    def test_first_difference_is_named(self):
        error = self.assertRaises(
            exception.UnsupportedNova, selfcheck.verify,
            [(HERE + 'method', 'self, ...'), (HERE + 'one', 'self'),
             (HERE + 'two', 'self')])
        self.assertIn(HERE + 'one', str(error))
