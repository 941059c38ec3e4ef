# SPDX-License-Identifier: Apache-2.0

"""A default has one home; what cannot import that home agrees with it."""

import pathlib
import unittest

import ddt
import yaml

from nova_rt.rules import defaults

_ROOT = pathlib.Path(__file__).parents[3]
_TYPES = 'tacker_rt/defs/tacker_rt_policy_types.yaml'


@ddt.ddt
class DefaultsTest(unittest.TestCase):

    def test_types_of_tosca(self):
        types = yaml.safe_load((_ROOT / _TYPES).read_text())['policy_types']
        values = [properties['max_share']['default']
                  for properties in (
                      one.get('properties', {}) for one in types.values())
                  if 'max_share' in properties]
        self.assertEqual([defaults.MAX_SHARE], values)

    @ddt.data(
        ('cli/nova-rt-plan.rst', f'(default: {defaults.MAX_SHARE})'),
        ('tacker/vnfd.rst',
         f'``max_share``             {defaults.MAX_SHARE} '),
        ('reference/glossary.rst', f'{defaults.CPU_CAP} by'))
    @ddt.unpack
    def test_pages(self, page, text):
        self.assertIn(text, (_ROOT / 'doc/source' / page).read_text())
