# SPDX-License-Identifier: Apache-2.0

"""Metrics as Prometheus reads them: text format, version 0.0.4."""

from collections.abc import Iterable, Iterator, Mapping
import dataclasses

from rt_monitor import histogram

CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
#: What labels of foreign text are cut at.
LONGEST = 64
#: Computed from the fine buckets.
QUANTILES = (0.5, 0.75, 0.9, 0.99, 0.999)

_ESCAPES = str.maketrans({'\\': r'\\', '"': r'\"', '\n': r'\n'})
_NS = 1e9
#: All lines of a histogram, for what is filled in at once: it is most of
#: the text.  What they begin with stands for itself.
_START = '\0'
_BUCKETS = '\n'.join(f'{_START}{bound}"}} %d' for bound in (
    *map(repr, histogram.BOUNDS), '+Inf'))
_QUANTILES = '\n'.join(f'{_START}{part!r}"}} %r' for part in QUANTILES)


@dataclasses.dataclass(frozen=True, slots=True)
class Family:
    """A metric.

    :ivar kind: counter, gauge, or histogram
    :ivar lines: its samples as text, one or more in each
    """

    name: str
    kind: str
    help: str
    lines: list[str] = dataclasses.field(default_factory=list)

    def add(self, value: float, labels: Mapping[str, str]) -> None:
        self.lines.append(f'{self.name}{_labels(labels)} {value!r}')

    def observe(self, found: histogram.Histogram,
                labels: Mapping[str, str]) -> None:
        """Add a histogram of times, in seconds."""
        inside, count = _labels(labels), found.count
        buckets = _fill(_BUCKETS, f'{self.name}_bucket', inside, 'le',
                        (*found.cumulative(), count))
        self.lines.append(
            f'{buckets}\n{self.name}_sum{inside} {found.sum_ns / _NS!r}\n'
            f'{self.name}_count{inside} {count}')

    def add_quantiles(self, found: histogram.Histogram,
                      labels: Mapping[str, str]) -> None:
        """Add the quantiles of times, in seconds."""
        self.lines.append(_fill(
            _QUANTILES, self.name, _labels(labels), 'quantile', tuple(
                found.quantile_ns(part) / _NS for part in QUANTILES)))


def _fill(lines: str, name: str, labels: str, last: str,
          values: tuple[float, ...]) -> str:
    """Lines that differ in their value and their last label."""
    start = f'{name}{labels[:-1]},' if labels else f'{name}{{'
    return (lines % values).replace(_START, f'{start}{last}="')


def text(families: Iterable[Family]) -> str:
    """All metrics that have a sample; a source that is off has none."""
    return '\n'.join([*(line for family in families if family.lines
                        for line in _family(family)), ''])


def _family(family: Family) -> Iterator[str]:
    yield f'# HELP {family.name} {family.help}'
    yield f'# TYPE {family.name} {family.kind}'
    yield from family.lines


def clean(value: str) -> str:
    """Foreign text as a label has it: no control characters, and short."""
    if not value.isprintable():
        value = ''.join(each if each.isprintable() else '?' for each in value)
    return value[:LONGEST]


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ''
    inside = ','.join([f'{name}="{value.translate(_ESCAPES)}"'
                       for name, value in labels.items()])
    return f'{{{inside}}}'
