# SPDX-License-Identifier: Apache-2.0

"""The numbers that the pages of papers show, by name.

All numbers come from files of the repository: the published values of the
papers, and the values that this project measured.  The pages contain no
numbers that were typed by hand.
"""

from collections.abc import Iterator, Sequence
import csv
import functools
import pathlib
import re
import statistics

from paper.fig8 import pairs
from paper.fig8 import records as fig8_records
from paper.fig8 import table as fig8_table
from paper.interference import facts as interference
from paper.interference import simulation
from paper import loop
from paper import model_errors
from paper.pinning import facts as pinning
from paper.pinning import records as pinning_records
from paper.probe import facts as probe
from paper.probe import records as probe_records
from rt_models.interference import document
from rt_models.pinning import core_ratio
from rt_monitor import power

_DOC = pathlib.Path(__file__).parents[1] / 'doc/source'
DATA = _DOC / 'experiments'
PUBLISHED = _DOC / 'reference/papers/published.csv'
COSTS = _DOC / 'admin/monitoring-cost.csv'
#: Numbers that are in no table of their page.
MONITOR, COMPANY = _DOC / 'admin/monitoring.csv', _DOC / 'model/company.csv'
LOOP = _DOC / 'admin/loop.txt'
MODEL = _DOC / 'model/exact.txt'
CHAIN = DATA / 'chain.csv'
SIMULATION = DATA / 'simulation.txt'
#: The line of table3.inc with the average of all rows, twice: for our list of
#: intervals and for the paper's.
_ALL = re.compile(r'^All .*$', re.MULTILINE)
_RATIO = re.compile(r'runs\):\s+mean\s+([\d.]+)\s[^,]*,\s+p99\s+([\d.]+)')
_WORSE = re.compile(r'larger errors\s+in\s+(\d+\s+of\s+\d+)\s+cells')
#: The errors of the exact model over the published ones.
_OVER = re.compile(r'over the rows:\s+mean\s+([\d.]+),\s+p99\s+(\d+\.\d+)')
_PAIR = re.compile(r'([\d.]+ / [\d.]+ %)')

Named = Iterator[tuple[str, str]]


@functools.cache
def all_facts() -> dict[str, str]:
    """Returns each number as text, by its name."""
    return dict((*_listed(), *_experiments(), *_table3(), *_fig8(),
                 *_sip(), *_monitor(), *_models()))


def rows(path: pathlib.Path) -> list[dict[str, str]]:
    """Returns the lines of a CSV file by the names of its columns."""
    with path.open(newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file))


def fig8_runs() -> list[fig8_records.Run]:
    """Returns the runs of Fig. 8 on all kernels."""
    return fig8_records.read(DATA / 'fig8.csv')


def sip_runs() -> list[fig8_records.Run]:
    """Returns the runs of Fig. 8 with Kamailio."""
    return fig8_records.read(DATA / 'fig8-sip.csv')


def _listed() -> Named:
    for path in (PUBLISHED, MONITOR, COMPANY):
        for row in rows(path):
            yield row['name'], row['value']


def _experiments() -> Named:
    yield from probe.named(probe_records.Data(DATA / 'probe.csv'))
    yield from pinning.named(pinning_records.Data(DATA / 'pinning.csv'))
    yield from interference.pairs(
        document.load(str(DATA / 'reserved.yaml')),
        document.load(document.SHIPPED_RESERVED))
    yield from interference.published(document.load(document.SHIPPED))
    yield from simulation.named(SIMULATION.read_text())
    yield 'weigher.chr-at-low', str(core_ratio.AT_LOW)


def _table3() -> Named:
    ours, theirs = (DATA / 'table3.inc').read_text().split('Intervals of ')[1:]
    for name, text in (('ours', ours), ('theirs', theirs), (
            'groups', (DATA / 'table3-groups.inc').read_text())):
        line, = _ALL.findall(text)
        for what, ratio in zip(('measured', 'controlled'),
                               _RATIO.findall(text), strict=True):
            mean, p99 = ratio
            yield f'table3.{name}.{what}.mean-ratio', mean
            yield f'table3.{name}.{what}.p99-ratio', p99
        for what, worse in zip(('measured', 'controlled'),
                               _WORSE.findall(text), strict=False):
            yield f'table3.{name}.{what}.worse', ' '.join(worse.split())
        for mean, p99 in _OVER.findall(text):
            yield f'table3.{name}.published-mean', mean
            yield f'table3.{name}.published-p99', p99
        errors = _PAIR.findall(line)
        for column, value in zip(
                ('published', 'paper', 'exact', 'paper-controlled',
                 'exact-controlled'), errors, strict=False):
            yield f'table3.{name}.{column}', value


def _fig8() -> Named:
    runs = fig8_runs()
    for one in fig8_table.sets(runs):
        name = f'fig8.{_slug(one.kernel)}.{one.pair}'
        yield f'{name}.runs', str(len(fig8_table.case_runs(
            runs, one, pairs.RESERVED, pairs.NOBODY)))
        for noise in (pairs.PERIODIC, pairs.GREEDY):
            yield f'{name}.{noise}', str(fig8_table.isolation(
                runs, one, noise))
        for scheduler, noise in pairs.CASES:
            found = fig8_table.case_runs(runs, one, scheduler, noise)
            if found:
                mean = sum(run.p99_us for run in found) / len(found)
                yield f'{name}.{scheduler}-{noise}.p99', f'{mean:.0f} us'


def _sip() -> Named:
    runs = sip_runs()
    one, = fig8_table.sets(runs)
    isolation = fig8_table.isolation(runs, one, pairs.PERIODIC)
    yield 'sip.periodic', str(isolation)
    yield 'sip.bar', str(fig8_table.BAR)
    yield from _sip_shift(
        *(fig8_table.case_runs(runs, one, pairs.RESERVED, noise)
          for noise in (pairs.PERIODIC, pairs.NOBODY)))
    for scheduler in (pairs.RESERVED, pairs.FAIR):
        some = [run for run in runs if run.scheduler == scheduler]
        used = sorted(100 * run.load for run in some)
        yield f'sip.{scheduler}.load', f'{used[0]:.0f} to {used[-1]:.0f} %'
        # All runs of a scheduler have one pace.
        yield (f'sip.{scheduler}.pace',
               f'{1e6 / some[0].interval_us:,.0f} a second')
    loads = sorted(run.load_average for run in runs)
    yield 'sip.load-averages', f'{loads[0]:.0f} to {loads[-1]:.0f}'
    for scheduler, noise in pairs.CASES:
        some = fig8_table.case_runs(runs, one, scheduler, noise)
        if some:
            middle = statistics.median(run.p99_us for run in some)
            yield f'sip.{scheduler}-{noise}.p99', f'{middle:.0f} us'


def _sip_shift(noisy: Sequence[fig8_records.Run],
               quiet: Sequence[fig8_records.Run]) -> Named:
    """Yields how noise shifts all times, and how quiet runs differ.

    The runs have their order in time, so that two quiet runs that followed
    each other show what the ratio of two runs is without any noise.
    """
    yield 'sip.runs', str(len(quiet))
    for name, get in (('mean', lambda run: run.measured.mean_us),
                      ('median', lambda run: run.median_us)):
        above, below = (statistics.median(map(get, some))
                        for some in (noisy, quiet))
        yield f'sip.{name}-ratio', f'{above / below:.3f}'
    yield 'sip.quiet', str(fig8_table.ratio(quiet[1:], quiet[:-1]))


def _slug(kernel: str) -> str:
    return re.sub(r'[^a-z0-9.]+', '-', kernel.lower())


def _monitor() -> Named:
    for name, row in zip(('switch', 'request', 'ep', 'cg', 'mg'),
                         rows(COSTS), strict=True):
        yield f'monitor.{name}.least', row['Difference of the minimums']
        yield f'monitor.{name}.median', row['Median']
    # A switch takes some ns, so that a thousand a second take that many us.
    least, most = (int(part) / 1e4 for part in re.findall(
        r'\d+', rows(COSTS)[0]['True median between']))
    yield 'monitor.switches', f'{least:.2f} to {most:.2f} %'
    yield 'monitor.siblings', f'{power.THREADS_RATIO:g}'
    yield from _chain(rows(CHAIN))


def _models() -> Named:
    yield from loop.named(LOOP.read_text())
    yield from model_errors.named(MODEL.read_text())


def _chain(runs: list[dict[str, str]]) -> Named:
    """Yields by how much the saturation of a chain was overestimated."""
    for held in ('quota', 'reservation'):
        some = [run for run in runs if run['held'] == held]
        yield f'chain.{held}.runs', str(len(some))
        inside = sum(float(run['least_hz']) <= float(run['reached_hz'])
                     <= float(run['most_hz']) for run in some)
        yield f'chain.{held}.inside', f'{inside} of {len(some)}'
        loads = sorted(float(run['load_average']) for run in some)
        yield f'chain.{held}.load', f'{loads[0]:.0f} to {loads[-1]:.0f}'
        for name, column in (('worst', 'least_hz'), ('beside', 'beside_hz'),
                             ('eq5', 'most_hz')):
            off = sorted(100 * (float(run[column])
                                / float(run['reached_hz']) - 1)
                         for run in some)
            for what, value in (('least', off[0]), ('most', off[-1]),
                                ('median', statistics.median(off))):
                yield f'chain.{held}.{name}.{what}', f'{value:.0f} %'
