# SPDX-License-Identifier: Apache-2.0

"""Reads the stored output of ``benchmarks/interference.py``."""

from collections.abc import Iterator, Sequence
import dataclasses
import re

from paper import report

HEADER = ('Functions, places', 'Mix of I to V', 'Gain, mean', 'Worst run',
          'Matrix 10 % wrong', 'Part of the best possible placement')
_SETTING = re.compile(r'^(\d+ of \d+), \w+ a host, mix ([\d:]+)$',
                      re.MULTILINE)
_GAIN = re.compile(r'gain over spread, (\w+) +mean +([-\d.]+) %, '
                   r'worst +([-\d.]+) %')
_PART = re.compile(r'share of the optimum: mean ([\d.]+)')
_POINTS = re.compile(r'^(\d+) of \d+, points less with a matrix 10 % wrong:$',
                     re.MULTILINE)
_SEED = re.compile(r'seed \d+: ([\d.]+)')
_INTERVAL = re.compile(r'(\d+) runs, 95 % interval of the mean: (.*)')
_MEAN = re.compile(r'wrong: ([\d.]+), at most')


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """The results of one number of functions and one mix of types.

    :ivar gains: the mean gain and the worst gain in %, by the matrix that the
        weigher uses: the true one (*ours*), the true one with Nova's own
        weighers (*both*), one that is 10 % wrong, and the shipped one
    :ivar part: the part of the best possible gain; '' if not computed
    """

    places: str
    mix: str
    gains: dict[str, tuple[float, float]]
    part: str


def settings(text: str) -> Iterator[Setting]:
    """Yields all settings, in the order of the output."""
    for found, block in _blocks(_SETTING, text):
        part = _PART.search(block)
        yield Setting(found[1], found[2], {
            name: (float(mean), float(worst))
            for name, mean, worst in _GAIN.findall(block)},
            part[1] if part else '')


def table(text: str) -> str:
    """Returns the gains of all settings as reStructuredText."""
    return report.table(HEADER, map(_row, settings(text)))


def named(text: str) -> Iterator[tuple[str, str]]:
    """Yields the name and the text of each number."""
    shipped = [one.gains['shipped'] for one in settings(text)]
    means = sorted(mean for mean, _ in shipped)
    yield 'gain.shipped.mean', f'{means[0]:.1f} to {means[-1]:.1f} %'
    yield 'gain.shipped.worst', f'{min(worst for _, worst in shipped):.1f} %'
    *_, last = settings(text)
    yield 'gain.both', f'{last.gains["both"][0]:.1f} %'
    for found, block in _blocks(_POINTS, text):
        seeds = sorted(map(float, _SEED.findall(block)))
        runs, interval = _INTERVAL.findall(block)[0]
        for name, value in (
                ('points', _MEAN.findall(block)[0]), ('runs', runs),
                ('interval', interval),
                ('seeds', f'{seeds[0]:.2f} to {seeds[-1]:.2f}')):
            yield f'wrong.{found[1]}.{name}', value


def _blocks(head: re.Pattern[str], text: str
            ) -> Iterator[tuple[re.Match[str], str]]:
    """Yields each head, and the text from this head to the next."""
    heads = [*head.finditer(text)]
    ends = [*(found.start() for found in heads[1:]), len(text)]
    for found, end in zip(heads, ends, strict=True):
        yield found, text[found.end():end]


def _row(one: Setting) -> Sequence[str]:
    mean, worst = one.gains['ours']
    return (one.places, one.mix, f'{mean:.1f} %', f'{worst:.1f} %',
            f'{one.gains["wrong"][0]:.1f} %', one.part or 'not computed')
