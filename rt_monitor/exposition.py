# SPDX-License-Identifier: Apache-2.0

"""Writes metrics in the text format of Prometheus, version 0.0.4."""

from collections.abc import Iterable, Iterator, Mapping
import dataclasses

from rt_monitor import histogram

CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
#: The most characters of a label whose text is foreign.
LONGEST = 64
#: The quantiles that are computed from the fine buckets.
QUANTILES = (0.5, 0.75, 0.9, 0.99, 0.999)

_ESCAPES = str.maketrans({'\\': r'\\', '"': r'\"', '\n': r'\n'})
_NS = 1e9
#: The lines of all buckets of a histogram, whose values are filled in with
#: one operation, because buckets are most of the text.  The start character
#: stands for the name and the labels of the metric.
_START = '\0'
_BUCKETS = '\n'.join(f'{_START}{bound}"}} %d' for bound in (
    *map(repr, histogram.BOUNDS), '+Inf'))
_QUANTILES = '\n'.join(f'{_START}{part!r}"}} %r' for part in QUANTILES)


@dataclasses.dataclass(frozen=True, slots=True)
class Family:
    """A metric with its samples.

    :ivar kind: counter, gauge, histogram, or summary without sum and count
    :ivar help: the sentence that describes the metric
    :ivar lines: the samples as text, one or more in each string
    """

    name: str
    kind: str
    help: str
    lines: list[str] = dataclasses.field(default_factory=list)

    def add(self, value: float, labels: Mapping[str, str]) -> None:
        """Adds a sample."""
        self.lines.append(f'{self.name}{_labels(labels)} {value!r}')

    def observe(self, times: histogram.Histogram,
                labels: Mapping[str, str]) -> None:
        """Adds the samples of a histogram of times, in seconds."""
        inside, count = _labels(labels), times.count
        buckets = _fill(_BUCKETS, f'{self.name}_bucket', inside, 'le',
                        (*times.cumulative(), count))
        self.lines.append(
            f'{buckets}\n{self.name}_sum{inside} {times.sum_ns / _NS!r}\n'
            f'{self.name}_count{inside} {count}')

    def add_quantiles(self, times: histogram.Histogram,
                      labels: Mapping[str, str]) -> None:
        """Adds the quantiles of a histogram of times, in seconds."""
        self.lines.append(_fill(
            _QUANTILES, self.name, _labels(labels), 'quantile', tuple(
                times.quantile_ns(part) / _NS for part in QUANTILES)))


def _fill(lines: str, name: str, labels: str, last: str,
          values: tuple[float, ...]) -> str:
    """Fills in lines that differ in their value and their last label."""
    start = f'{name}{labels[:-1]},' if labels else f'{name}{{'
    return (lines % values).replace(_START, f'{start}{last}="')


def text(families: Iterable[Family]) -> str:
    """Returns the text of all metrics that have a sample.

    The metrics of a source that is off have no sample.
    """
    return '\n'.join([*(line for family in families if family.lines
                        for line in _family(family)), ''])


def _family(family: Family) -> Iterator[str]:
    yield f'# HELP {family.name} {family.help}'
    yield f'# TYPE {family.name} {family.kind}'
    yield from family.lines


def clean(value: str) -> str:
    """Returns foreign text shortened and without control characters."""
    if not value.isprintable():
        value = ''.join(character if character.isprintable() else '?'
                        for character in value)
    return value[:LONGEST]


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ''
    inside = ','.join([f'{name}="{value.translate(_ESCAPES)}"'
                       for name, value in labels.items()])
    return f'{{{inside}}}'
