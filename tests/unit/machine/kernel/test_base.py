# SPDX-License-Identifier: Apache-2.0

"""Tests when a budget that is held is the one wanted."""

from oslotest import base as test_base

from nova_rt.machine.kernel import base


class BudgetTest(test_base.BaseTestCase):

    def gives(self, held, wanted, replicated):
        return base.Budget(*held).gives(base.Budget(*wanted), replicated)

    def test_the_same(self):
        for replicated in (False, True):
            self.assertTrue(self.gives(
                ({0: 10, 1: 10}, 100), ({0: 10, 1: 10}, 100), replicated))

    def test_more_than_was_asked_for(self):
        held, wanted = ({0: 10, 1: 10}, 100), ({0: 10}, 100)
        self.assertTrue(self.gives(held, wanted, True))
        self.assertFalse(self.gives(held, wanted, False))

    def test_less(self):
        for replicated in (False, True):
            self.assertFalse(self.gives(
                ({0: 10}, 100), ({0: 10, 1: 10}, 100), replicated))

    def test_other_numbers(self):
        for replicated in (False, True):
            self.assertFalse(self.gives(
                ({0: 10}, 100), ({0: 11}, 100), replicated))
            self.assertFalse(self.gives(
                ({0: 10}, 100), ({0: 10}, 200), replicated))
