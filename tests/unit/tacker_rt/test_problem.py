# SPDX-License-Identifier: Apache-2.0

"""Tests that a problem is one line, whatever is in it."""

from oslotest import base

from tacker_rt import problem


class NearestTest(base.BaseTestCase):

    def test_known_words_that_would_break_the_line(self):
        self.assertEqual("use db or 'web\\n'",
                         problem.nearest('nobody', ['web\n', 'db']))
        self.assertEqual("did you mean 'web\\n'?",
                         problem.nearest('web', ['web\n', 'db']))
