# SPDX-License-Identifier: Apache-2.0

"""Tests that benchmarks are found as modules, too."""

import importlib

import ddt
from oslotest import base


@ddt.ddt
class ModulesTest(base.BaseTestCase):

    @ddt.data('filter', 'passes', 'weigher')
    def test_one_that_needs_its_neighbours(self, name):
        self.assertTrue(importlib.import_module(f'benchmarks.{name}'))
