# SPDX-License-Identifier: Apache-2.0

"""Reads the stored output of ``benchmarks/loop.py``."""

from collections.abc import Iterator
import re

from paper import report

HEADER = ('Trace', 'Static', 'Loop', 'Less bandwidth',
          'Windows that meet the target', 'Changes')
_TRACE = re.compile(
    r'^\d+ (\w+): static ([\d.]+); loop ([\d.]+) \((-?\d+)% less\), '
    r'([\d.]+)% of (\d+) windows meet the target, (\d+) changes$',
    re.MULTILINE)
_ALL = re.compile(r'^all: ([\d.]+)% of the windows, (-?[\d.]+)% less',
                  re.MULTILINE)


def table(text: str) -> str:
    """Returns what the loop reached on each trace, as reStructuredText."""
    return report.table(HEADER, (
        (name, static, share, f'{int(less)} %', f'{met} %', changes)
        for name, static, share, less, met, _, changes in _TRACE.findall(text)
    ))


def named(text: str) -> Iterator[tuple[str, str]]:
    """Yields the name and the text of each number."""
    (met, less), = _ALL.findall(text)
    yield 'loop.met', f'{met} %'
    yield 'loop.less', f'{less} %'
    yield 'loop.windows', _TRACE.findall(text)[0][5]
