# SPDX-License-Identifier: Apache-2.0

"""Shows all goals of probe, pinning and interference: ``run.sh placing``.

The values come from files of results; this command measures nothing and only
runs the tests of the rules.  Each row names the command that measures it.
"""

import argparse
from collections.abc import Iterator, Sequence
import os
import pathlib
import re
import unittest

from paper.interference import table as interference
from paper.pinning import records as pinning_records
from paper.pinning import table as pinning
from paper.probe import records as probe_records
from paper.probe import table as probe
from paper import report
from rt_models.interference import document

_PAGES = pathlib.Path(__file__).parents[1] / 'doc/source/experiments'
HEADER = ('Row', 'Bar', 'Measured', 'Met', 'Command')
#: The form of the lines of benchmarks.
_GOAL = re.compile(r'^  (met   |MISSED) (.*): ([-0-9.]+), (at \w+ [-0-9.]+)$',
                   re.MULTILINE)
#: The benchmarks that print these lines, by the file of their output.
_BENCHMARKS = {'simulation.txt': 'benchmarks/interference.py',
               'weigher.txt': 'benchmarks/weigher.py'}
_NONE = 'not measured'

Row = Sequence[object]


def register(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument(
        '--results', type=pathlib.Path, metavar='DIRECTORY', default=_PAGES,
        help='with probe.csv, pinning.csv, reserved.yaml, and the output of '
        f'benchmarks in {" and ".join(_BENCHMARKS)} (%(default)s)')


def run(options: argparse.Namespace) -> str:
    """Returns all rows as reStructuredText.

    :raises RTError: when a file is not a file of results
    """
    return report.table(HEADER, [*rows(options.results), rules()])


def rows(results: pathlib.Path) -> Iterator[Row]:
    """Returns the rows from all files, in the order of their subjects."""
    for row, bar, _, measured, worst, met in probe.rows(
            probe_records.Data(results / 'probe.csv')):
        yield (f'rt-probe, {row}', bar, f'{measured}; worst {worst}' if worst
               else measured, met, 'run.sh probe')
    yield from _pinning(results / 'pinning.csv')
    yield from _pairs(results / 'reserved.yaml')
    for name, command in _BENCHMARKS.items():
        yield from _goals(results / name, command)


def rules() -> Row:
    """Tests every rule of pinning, and the edges of CHR."""
    # Tests print their failures; the table has only the number of failures.
    with open(os.devnull, 'w', encoding='ascii') as nowhere:
        done = unittest.TextTestRunner(nowhere).run(
            unittest.defaultTestLoader.loadTestsFromNames([
                'tests.unit.rt_models.pinning.test_advice',
                'tests.unit.rt_models.pinning.test_core_ratio']))
    bad = len(done.failures) + len(done.errors)
    return ('nova-rt pinning: rules, CHR edges', 'every case',
            f'{bad} tests fail' if bad else 'all tests pass', _word(not bad),
            'tests/unit/rt_models/pinning')


def _pinning(path: pathlib.Path) -> Iterator[Row]:
    bar = (f'time {pinning.TIME}, CPU s {pinning.CPU_TIME} of vanilla, CV '
           f'{100 * pinning.CV:.0f} %')
    rows = list(pinning.judged(pinning_records.Data(path)))
    for workload, measured, met in rows or [('all', _NONE, False)]:
        yield (f'reserved beside busy neighbours, {workload}', bar, measured,
               _word(met), 'run.sh pinning')


def _pairs(path: pathlib.Path) -> Iterator[Row]:
    bars = (('reserved pairs', f'{interference.CELLS} of 20 cells at least '
             f'{interference.KEPT}, mean {interference.MEAN}'),
            ('reserved pairs, prediction',
             f'{100 * interference.OFF:.0f} % each'))
    judged = ((_NONE, False),) * len(bars)
    if path.exists():
        judged = interference.judged(
            document.load(str(path)),
            document.load(document.SHIPPED_RESERVED))
    for (row, bar), (measured, met) in zip(bars, judged, strict=True):
        yield row, bar, measured, _word(met), 'run.sh interference'


def _goals(path: pathlib.Path, command: str) -> Iterator[Row]:
    matches = _GOAL.findall(path.read_text()) if path.exists() else []
    for word, text, value, limit in matches or [('', command, _NONE, '')]:
        yield text, limit, value, _word(word.strip() == 'met'), command


def _word(met: bool) -> str:
    return 'yes' if met else 'no'
