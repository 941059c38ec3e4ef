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
_BOUNDS = (*map(repr, histogram.BOUNDS), '+Inf')


@dataclasses.dataclass(frozen=True, slots=True)
class Family:
    """A metric.

    :ivar kind: counter, gauge, or histogram
    :ivar lines: its samples as text, made by :meth:`add`
    """

    name: str
    kind: str
    help: str
    lines: list[str] = dataclasses.field(default_factory=list)

    def add(self, value: float, labels: Mapping[str, str],
            suffix: str = '') -> None:
        self.lines.append(
            f'{self.name}{suffix}{_labels(labels)} {_number(value)}')

    def observe(self, found: histogram.Histogram,
                labels: Mapping[str, str]) -> None:
        """Add a histogram of times, in seconds."""
        start = f'{self.name}_bucket' + _labels({**labels, 'le': ''})[:-2]
        self.lines.extend(
            f'{start}{bound}"}} {count}' for bound, count in zip(
                _BOUNDS, [*found.cumulative(), found.count], strict=True))
        self.add(found.sum_ns / _NS, labels, '_sum')
        self.add(found.count, labels, '_count')


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
    inside = ','.join(f'{name}="{value.translate(_ESCAPES)}"'
                      for name, value in labels.items())
    return f'{{{inside}}}'


def _number(value: float) -> str:
    return repr(float(value)) if isinstance(value, float) else str(value)
