# SPDX-License-Identifier: Apache-2.0

"""``nova-rt interference``."""

import json
import os

import fixtures

from rt_models.interference import document
from rt_operate.commands import main
from tests.unit import commands


class InterferenceTest(commands.CommandTest):

    main = staticmethod(main.main)

    def test_show_marks_what_is_estimated(self):
        status, out, err = self.run_main('interference', 'show')
        self.assertEqual((0, ''), (status, err))
        self.assertEqual(22, out.count('estimated, +- '))
        self.assertIn('  beside III      0.8541  published\n', out)
        self.assertIn('II (monitor), row mean 0.4969, published 0.4969', out)

    def test_show_json(self):
        status, out, _ = self.run_main('interference', 'show',
                                       document.SHIPPED, '-f', 'json')
        found = json.loads(out)
        self.assertEqual(0, status)
        self.assertEqual(25, len(found['cells']))
        self.assertEqual(
            {'target': 'I', 'competitor': 'I', 'value': 0.935,
             'origin': 'estimated', 'stdev': 0.045, 'runs': None},
            found['cells'][0])

    def test_check(self):
        status, out, _ = self.run_main('interference', 'check',
                                       document.SHIPPED)
        self.assertEqual(0, status)
        self.assertIn('valid; 5 types, 25 cells, for shared servers.', out)

    def test_check_json(self):
        status, out, _ = self.run_main('interference', 'check', '-f', 'json',
                                       document.SHIPPED)
        self.assertEqual(0, status)
        self.assertEqual({'file': document.SHIPPED, 'applies_to': 'shared',
                          'types': 5, 'cells': 25}, json.loads(out))

    def test_bad_file(self):
        path = os.path.join(self.useFixture(fixtures.TempDir()).path, 'm')
        with open(path, 'w') as handle:
            handle.write('format: x\n')
        for action in ('check', 'show'):
            status, out, err = self.run_main('interference', action, path)
            self.assertEqual((1, ''), (status, out))
            self.assertEqual(
                f"nova-rt: {path}: format: 'x' is not allowed; give "
                f'nova-rt-interference/1.\n', err)

    def test_usage(self):
        for argv in ((), ('check',), ('show', '-f', 'xml')):
            self.assertEqual(3, self.run_main('interference', *argv)[0])
