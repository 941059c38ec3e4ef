# SPDX-License-Identifier: Apache-2.0

"""``nova-rt interference measure``, up to the start of a measurement."""

import pathlib

import ddt
import fixtures

from rt_operate.commands import main
from tests.unit import commands

_PROFILE = ('format: nova-rt-profile/1\ntype: T\nneeds: [{}]\n'
            'load: {{}}\nwork: packets\n')


@ddt.ddt
class MeasureTest(commands.CommandTest):

    main = staticmethod(main.main)

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def _profile(self, name, program):
        path = self.folder / name
        path.write_text(_PROFILE.format(program))
        return str(path)

    def _run(self, *argv):
        return self.run_main('interference', 'measure', *argv, '-o',
                             str(self.folder / 'out'))

    def test_what_cannot_run_here_is_left_out(self):
        path = self._profile('p', 'no-such-program')
        status, out, err = self._run(path)
        self.assertEqual((1, ''), (status, out))
        self.assertEqual(
            f'nova-rt: {path} is left out: the program no-such-program is '
            f'not installed.\nnova-rt: {path}: needs: no profile can run '
            'here; install the programs that are missing.\n', err)
        self.assertEqual(['p'], [one.name for one in self.folder.iterdir()])

    def test_where_nothing_can_be_written(self):
        """The command says so before it measures anything."""
        for output in (self.folder, self.folder / 'none' / 'out'):
            status, out, err = self.run_main(
                'interference', 'measure', self._profile('p', 'sh'), '-o',
                str(output))
            self.assertEqual((1, ''), (status, out))
            self.assertEqual(
                f'nova-rt: {output}: nothing can be measured, since the '
                'file cannot be written; name another output.\n', err)

    def test_equal_types(self):
        paths = self._profile('p', 'sh'), self._profile('q', 'sh')
        status, _, err = self._run(*paths)
        self.assertEqual(1, status)
        self.assertIn(f'{paths[1]}: type: an earlier profile also has the '
                      'type T; rename one of them.', err)

    def test_bad_reservation(self):
        for text in ('0/100', '9', 'x/y', '200/100'):
            status, _, err = self._run('--reservation', text,
                                       self._profile('p', 'sh'))
            self.assertEqual(1, status)
            self.assertIn('option --reservation', err)

    @ddt.data(('--runs', '0'), ('--seconds', 'x'), ('--cpus', '0', '99999'))
    def test_usage(self, options):
        self.assertEqual(3, self._run(self._profile('p', 'sh'), *options)[0])
