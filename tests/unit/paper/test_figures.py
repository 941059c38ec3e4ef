# SPDX-License-Identifier: Apache-2.0

import contextlib
import io
import pathlib
import re
import unittest

import ddt

from paper import __main__ as main
from paper import figures
from paper import pages

_DOC = pathlib.Path(__file__).parents[3] / 'doc/source'
_SHOWN = re.compile(r'^ *\.\. (?:facts-table|include|image|figure):: (\S+)',
                    re.MULTILINE)
#: Tables of the pages that are no figure, and the commands that make them.
_OTHERS = {'placing': 'placing', 'chance.inc': 'chance'}


def _shown():
    """The page and the name of each table and picture."""
    for page in (*(_DOC / 'reference/papers').glob('*.rst'),
                 *(_DOC / 'experiments').glob('*.rst')):
        for name in _SHOWN.findall(page.read_text()):
            yield page.name, name


@ddt.ddt
class FiguresTest(unittest.TestCase):

    def test_a_figure_becomes_its_command(self):
        self.assertEqual(['fig8', '--runs', '2'],
                         figures.words(['004', '8', '--runs', '2']))
        self.assertEqual(['table3', '--short'],
                         figures.words(['table3', '--short']))

    @ddt.data(*(one for one in figures.FIGURES if one.file))
    def test_stored_data_exist(self, one):
        *_, path = figures.words([one.paper, one.name, '--data'])
        self.assertTrue(pathlib.Path(path).is_file(), path)

    @ddt.data(*figures.FIGURES)
    def test_every_command_exists(self, one):
        self.assertIn(one.command[0],
                      main.CAMPAIGNS | main.EXPERIMENTS | main.TOOLS)
        self.assertRegex(figures.text(), f'(?m)^{one.paper} {one.name} ')

    def test_every_table_and_picture_has_a_command(self):
        """A figure with stored data makes it again."""
        made = {name for one in figures.FIGURES if one.stored
                for name in one.makes}
        for page, name in _shown():
            if name in _OTHERS:
                self.assertIn(_OTHERS[name], main.EXPERIMENTS | main.TOOLS)
            else:
                self.assertIn(name, made, page)

    def test_every_figure_is_on_a_page(self):
        shown = {name for _, name in _shown()}
        for one in figures.FIGURES:
            self.assertLessEqual({*one.makes}, shown, one.name)

    @ddt.data('command', 'stored')
    def test_no_figure_overwrites_another(self, words):
        """Figures of one command write into directories of their own."""
        written = []
        for given in (getattr(one, words) for one in figures.FIGURES):
            # Both figures of the chain have the same table.
            if given and given[0] != 'chain':
                at = given.index('--output') if '--output' in given else -1
                written.append(given[at + 1])
        self.assertEqual(sorted(set(written)), sorted(written))

    @ddt.data(['000', 'table4'], ['001', 'beside'], ['002', '3'],
              ['003', 'saturation'])
    def test_a_rebuild_changes_no_data(self, figure):
        *words, path = figures.words([*figure, '--data'])
        before = pathlib.Path(path).read_bytes()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(0, main.main([*words, path]))
        one, = (one for one in figures.FIGURES
                if [one.paper, one.name] == figure)
        for name in one.makes:
            self.assertIn(pages.TABLES[name]().strip(), said.getvalue())
        self.assertEqual(before, pathlib.Path(path).read_bytes())

    @ddt.data(['004', '9'], ['005', '8'], ['004', '9', '--data'])
    def test_no_such_figure(self, words):
        with self.assertRaisesRegex(figures.NoFigure, words[1]):
            figures.words(words)

    def test_a_figure_without_stored_data_must_be_measured(self):
        with self.assertRaisesRegex(figures.NoData,
                                    '"run.sh 004 containers"'):
            figures.words(['004', 'containers', '--data'])
