# SPDX-License-Identifier: Apache-2.0

"""Metrics as Prometheus reads them: text format, version 0.0.4."""

from collections.abc import Iterable, Iterator, Mapping
import dataclasses

from nova_rt.monitor import histogram

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

    def add(self, value: float, labels: Mapping[str, str],
            suffix: str = '') -> None:
        self.lines.append(
            f'{self.name}{suffix}{_labels(labels)} {value!r}')

    def observe(self, found: histogram.Histogram,
                labels: Mapping[str, str]) -> None:
        """Add a histogram of times, in seconds."""
        self._fill(_BUCKETS, '_bucket', labels, 'le',
                   (*found.cumulative(), found.count))
        self.add(found.sum_ns / _NS, labels, '_sum')
        self.add(found.count, labels, '_count')

    def add_quantiles(self, found: histogram.Histogram,
                      labels: Mapping[str, str]) -> None:
        """Add the quantiles of times, in seconds."""
        self._fill(_QUANTILES, '', labels, 'quantile', tuple(
            found.quantile_ns(part) / _NS for part in QUANTILES))

    def _fill(self, lines: str, suffix: str, labels: Mapping[str, str],
              last: str, values: tuple[float, ...]) -> None:
        """Add lines that differ in their value and their last label."""
        start = self.name + suffix + _labels({**labels, last: ''})[:-2]
        self.lines.append((lines % values).replace(_START, start))


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
