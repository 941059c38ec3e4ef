# SPDX-License-Identifier: Apache-2.0

"""Prints the findings as text for a person, and as JSON."""

from collections.abc import Iterator, Sequence
import json
import textwrap
from typing import Any

from nova_rt.cli import formats
from nova_rt.rules import words
from nova_rt import version
from rt_operate.doctor import findings

#: The headings, with the most urgent first.
_HEADINGS = {findings.Level.PROBLEM: 'PROBLEMS',
             findings.Level.WARNING: 'WARNINGS',
             findings.Level.OK: 'OK'}
#: On terminals narrower than this, the id of a finding has its own line.
_BESIDE = 60
_INDENT = 4


def text(results: Sequence[findings.Finding], width: int) -> str:
    """Returns the findings by level, and a last line that counts them."""
    column = max((len(finding.id) for finding in results), default=0) + 4
    if width < _BESIDE:
        column = _INDENT
    lines: list[str] = []
    for level, heading in _HEADINGS.items():
        chosen = [finding for finding in results if finding.level is level]
        if chosen:
            lines.append(heading)
            for finding in chosen:
                lines += _entry(finding, column, max(width, 2 * _INDENT))
            lines.append('')
    counts = _count(results)
    problems = words.count(counts[findings.Level.PROBLEM], 'problem')
    warnings = words.count(counts[findings.Level.WARNING], 'warning')
    return '\n'.join([*lines, f'{problems}, {warnings}, '
                              f'{counts[findings.Level.OK]} OK'])


def as_json(results: Sequence[findings.Finding], interface: str | None,
            capacity_ppm: int | None, of_each_pcpu: bool) -> str:
    """Returns the findings as JSON.

    :param interface: the name of the kernel interface; None without one
    :param capacity_ppm: the bandwidth that servers may have; None if it is
        unknown
    :param of_each_pcpu: whether this is the bandwidth of each pCPU; False: of
        all pCPUs together
    """
    counts = _count(results)
    content: dict[str, Any] = {
        'version': version.get(),
        'findings': [{'id': finding.id, 'level': finding.level.value,
                      'text': finding.text, 'remedy': finding.remedy or None}
                     for finding in results],
        'summary': {'problems': counts[findings.Level.PROBLEM],
                    'warnings': counts[findings.Level.WARNING],
                    'ok': counts[findings.Level.OK]},
        'interface': interface,
        'capacity_ppm': capacity_ppm,
        'of_each_pcpu': of_each_pcpu,
    }
    return json.dumps(content, indent=2)


def as_table(results: Sequence[findings.Finding]) -> formats.Table:
    """Returns a row for each finding, in the order of the text."""
    return formats.Table(('Level', 'Id', 'Text', 'Remedy'), [
        (finding.level.value, finding.id, finding.text, finding.remedy)
        for level in _HEADINGS for finding in results
        if finding.level is level])


def _entry(finding: findings.Finding, column: int, width: int
           ) -> Iterator[str]:
    head = f'  {finding.id}'
    if len(head) + 2 > column:
        yield head
        head = ''
    yield from _wrapped(head.ljust(column) + finding.text, column, width)
    if finding.remedy:
        yield from _wrapped(' ' * column + '-> ' + finding.remedy, column + 3,
                            width)


def _wrapped(line: str, indent: int, width: int) -> list[str]:
    # Long words are paths, which stay whole so that they can be copied.
    return textwrap.wrap(line, width, subsequent_indent=' ' * indent,
                         break_long_words=False, break_on_hyphens=False)


def _count(results: Sequence[findings.Finding]) -> dict[findings.Level, int]:
    return {level: sum(finding.level is level for finding in results)
            for level in findings.Level}
