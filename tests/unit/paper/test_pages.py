# SPDX-License-Identifier: Apache-2.0

"""The data that the documentation's tables are made from."""

import pathlib
import re
import tempfile
import unittest

import ddt

from paper import bench
from paper import facts
from paper import fig6
from paper import fig7
from paper import measure
from paper import measured
from paper import pages
from paper import points
from paper import published
from paper import records
from paper import scheduling
from paper import table3

PAGES = pathlib.Path(__file__).parents[3] / 'doc/source/experiments'
CURVES = {
    'table3': [points.curve((*table3.DENSE_US, *published.INTERVALS_US),
                            row.size, row.load, row.share)
               for row in published.TABLE3],
    'fig6': [points.curve(published.INTERVALS_US, fig6.SIZE, *plot)
             for plot in fig6.PLOTS],
    'fig7': [points.curve(fig7.INTERVALS_US, fig7.SIZE, fig7.LOAD, fig7.SHARE,
                          megabits) for megabits in fig7.BANDWIDTHS]}


#: What a page of a paper may say in digits: parts of papers and of their
#: titles, versions, papers by their number, and references.
_ALLOWED = [re.compile(pattern) for pattern in (
    r':(fact|doc|term|ref):`[^`]*`',
    r'``[^`]*``',
    r'\b(Fig|Figs|Table|Eq|Eqs|[Ss]ections?)\.? [\dIV.]+'
    r'(( to |, | and )\d+)*',
    r'\b(Debian|Linux) [\d.]+',
    r'\b[Pp]aper 00[0-4]\b',
    r'\b(SHA-256|H\.264|wrk2)\b',
    r'\b99th percentiles?\b', r'\bticks of 4 ms\b')]
_PAPERS = PAGES.parent / 'reference'
#: What a page of an experiment may say besides: dates, versions of other
#: programs, commands, and the name of a percentile.
_CONDITIONS = [re.compile(pattern) for pattern in (
    r'\b\d+ November 2026', r'\bPython [\d.]+', r'\bcgroup v[12]\b',
    r'\bp99\b', r'^ +paper/run\.sh .*')]
#: A literal that is only a quantity is a result, and no setting.
_QUANTITY = re.compile(r'[\d., -]+(us|ms|s|MB|%|P)?')
#: What the pages of the model and the monitor may say besides: formulas,
#: versions, and names of other things.
_FORMULAS = [re.compile(pattern) for pattern in (
    r'M/M/1', r'1/µ', r'\(1 − Q/P\)', r'\bbound \(9\)', r'<https://\S+>',
    r'\bVictoriaMetrics [\d.]+', r'\bPrometheus [\d.]+')]
#: Sections in which no number is typed, in pages that have numbers of other
#: kinds: settings, sizes, and lists of metrics.
_SECTIONS = (('admin/monitoring', 'Accuracy'), ('admin/monitoring', 'Cost'),
             ('admin/limitations', 'The model'))
#: The pages in which no number is typed, besides those of the papers.
_EXPERIMENTS = ('experiments/probe', 'experiments/placing')
#: Pages that have set-ups or definitions, too, whose parts and percentages
#: are results.
_SHARES = ('experiments/table3', 'experiments/figures',
           'experiments/isolation', 'admin/placing', 'admin/monitoring')


def _prose(text):
    """The text without its literal blocks, which are what a command said."""
    return re.sub(r'(::\n)\n(?: +.*\n|\n)+', r'\1\n', text)


def _section(page, title):
    """The text below a title or a term of a page, to the next one."""
    text = (PAGES.parent / f'{page}.rst').read_text()
    _, _, rest = text.partition(f'\n{title}\n')
    if rest.startswith('='):
        return re.split(r'\n.*\n=====', rest)[0]
    return re.match('(?: +.*\n|\n)*', rest)[0]


def _typed(text, conditions=()):
    """The lines of a page that have a digit of their own."""
    lines = []
    skipped = False
    for line in text.splitlines():
        if line and not line.startswith(' '):
            skipped = line.startswith(('.. toctree', '.. facts-table'))
        if skipped:
            continue
        rest = line
        for allowed in (*_ALLOWED, *conditions):
            rest = allowed.sub('', rest)
        if re.search(r'\d', rest) and ':widths:' not in rest and (
                ':header-rows:' not in rest):
            lines.append(line)
    return lines


def _shares(text):
    """The lines that have a part or a percentage of their own."""
    lines = []
    for line in text.splitlines():
        rest = re.sub(r'\b(LD|Q/P) 0\.\d|95 % interval', '', line)
        for allowed in (*_ALLOWED, *_FORMULAS):
            rest = allowed.sub('', rest)
        if re.search(r'\d\.\d|\d %', rest):
            lines.append(line)
    return lines


@ddt.ddt
class PagesTest(unittest.TestCase):

    @ddt.data(('table3', 'table3'), ('fig6', 'table3'), ('fig7', 'fig7'))
    @ddt.unpack
    def test_data(self, page, file):
        """Ten runs count at each point, and intervals are no excuse."""
        data = records.Data(PAGES / f'{file}.csv').records
        for point in (point for curve in CURVES[page] for point in curve):
            found = measured.Measured(point, [
                run for run in data if run.point == point.name])
            self.assertGreaterEqual(len(found.counted), 10, point.name)
            self.assertTrue(all(map(measured.LIMITS.allow, found.counted)))
            for statistic in measured.STATISTICS:
                estimate = found.estimate(statistic)
                self.assertLess(estimate.half, estimate.value, point.name)


@ddt.ddt
class PapersTest(unittest.TestCase):

    def pages(self):
        return [_PAPERS / 'papers.rst', *(_PAPERS / 'papers').glob('*.rst')]

    def experiments(self):
        return [(PAGES.parent / f'{page}.rst').read_text()
                for page in _EXPERIMENTS]

    def test_no_number_is_typed(self):
        for page in self.pages():
            self.assertEqual([], _typed(page.read_text()), page)

    def test_no_number_of_an_experiment_is_typed(self):
        for page in self.experiments():
            self.assertEqual([], _typed(page, _CONDITIONS))

    def test_a_setting_is_no_quantity(self):
        for page in self.experiments():
            for text in re.findall(r'``([^`]*)``', page):
                self.assertFalse(_QUANTITY.fullmatch(text), text)

    @ddt.data('0.41 %', '2.1 ms', '0.25', '40')
    def test_a_quantity_is_seen(self, text):
        self.assertTrue(_QUANTITY.fullmatch(text))

    @ddt.data('share=0.5', 'P = 100 ms', 'CONFIG_HZ=250', '--seconds 250')
    def test_a_setting_is_seen(self, text):
        self.assertFalse(_QUANTITY.fullmatch(text))

    @ddt.data(*_SHARES)
    def test_no_share_is_typed(self, page):
        """Parts and percentages are results; these pages also have set-ups."""
        self.assertEqual([], _shares(_prose((
            PAGES.parent / f'{page}.rst').read_text())))

    def test_no_number_of_the_exact_model_is_typed(self):
        text = (PAGES.parent / 'model/exact.rst').read_text()
        self.assertEqual([], _typed(text, _FORMULAS))

    @ddt.data(*_SECTIONS)
    @ddt.unpack
    def test_no_number_of_a_section_is_typed(self, page, title):
        text = _section(page, title)
        self.assertGreater(len(text.splitlines()), 4)
        self.assertEqual([], _typed(_prose(text),
                                    (*_CONDITIONS, *_FORMULAS)))

    def test_no_number_below_the_table_of_the_cost_is_typed(self):
        text = (PAGES.parent / 'admin/monitoring-cost.inc').read_text()
        self.assertEqual([], _typed(text, _CONDITIONS))

    def test_no_share_in_the_limits_of_experiments_is_typed(self):
        text = (PAGES.parent / 'admin/limitations.rst').read_text()
        _, found, section = text.partition('\nThe experiments\n')
        self.assertTrue(found)
        self.assertEqual([], _shares(section))

    @ddt.data('it is 0.5 of the time', 'within 8 % each', '1.0, 3.3 and 4.6',
              '20 of 20 pairs', 'a CPU of 70/100')
    def test_a_typed_number_is_found(self, line):
        self.assertEqual([line], _typed(f'A page\n\n{line}\n'))

    @ddt.data('Figs. 8 to 11', 'Table IV', 'Eqs. 3 to 5', 'Linux 6.12',
              ':fact:`a.1`', '``1400/2000`` us', 'section 5.1')
    def test_a_part_of_a_paper_is_no_number(self, text):
        self.assertEqual([], _typed(f'It is {text}.'))

    def test_a_literal_has_no_measured_number(self):
        """Literals are configurations, commands and names."""
        for page in self.pages():
            for text in re.findall(r'``([^`]*)``', page.read_text()):
                self.assertTrue(
                    re.search('[A-Za-z_]', text) or re.fullmatch(
                        r'\d+/\d+|0\.8|0\.24', text), f'{page}: {text}')

    def test_every_fact_exists(self):
        names = facts.all_facts()
        for page in PAGES.parent.rglob('*.rst'):
            for name in re.findall(':fact:`([^`]*)`', page.read_text()):
                self.assertIn(name, names, page)

    def test_every_table_exists(self):
        for page in PAGES.parent.rglob('*.rst'):
            for name in re.findall(r'facts-table:: (\S+)', page.read_text()):
                self.assertIn(name, pages.TABLES, page)

    def test_every_published_number_has_a_source(self):
        for row in facts.rows(facts.PUBLISHED):
            self.assertTrue(row['source'] and row['value'], row)

    @ddt.data(facts.MONITOR, facts.COMPANY)
    def test_every_listed_number_has_a_command_and_a_date(self, path):
        for row in facts.rows(path):
            self.assertTrue(row['command'] and row['value'], row)
            self.assertRegex(row['date'], r'^2026-1[12]-\d\d$')

    def test_every_picture_has_data(self):
        """Each picture is drawn from a file in the same directory."""
        data = {'fig6.png': 'table3.csv',
                'fig6-groups.png': 'table3-groups.csv'}
        for picture in PAGES.glob('*.png'):
            beside = data.get(picture.name, f'{picture.stem}.csv')
            self.assertTrue((PAGES / beside).is_file(), picture)

    @ddt.data(('table3', table3, 20), ('fig6', fig6, 20), ('fig7', fig7, 10))
    @ddt.unpack
    def test_the_series_of_groups_is_that_of_the_data(self, name, module,
                                                      scale):
        data = PAGES / f'{"fig7" if name == "fig7" else "table3"}-groups.csv'
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(
                (PAGES / f'{name}-groups.inc').read_text().strip(),
                module.run(bench.Settings(
                    pathlib.Path(folder), scheduling.grouped, measure.SHORT,
                    1), bench.Extent(data, seconds=0, scale=scale)).strip())

    def test_a_table_has_rows(self):
        """A table has three rules, a header, and at least one row."""
        for name, make in pages.TABLES.items():
            self.assertGreater(len(make().splitlines()), 4, name)
