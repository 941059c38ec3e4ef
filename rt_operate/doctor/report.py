# SPDX-License-Identifier: Apache-2.0

"""The findings as text for a person, and as JSON."""

from collections.abc import Iterator, Sequence
import json
import textwrap
from typing import Any

from rt_operate.doctor import findings

#: What to do first comes first.
_HEADINGS = {findings.Level.PROBLEM: 'PROBLEMS',
             findings.Level.WARNING: 'WARNINGS',
             findings.Level.OK: 'OK'}
#: Below this a finding's id has a line of its own.
_BESIDE = 60
_INDENT = 4


def text(found: Sequence[findings.Finding], width: int) -> str:
    """Grouped by level, and one line that counts at the end."""
    column = max((len(one.id) for one in found), default=0) + 4
    if width < _BESIDE:
        column = _INDENT
    lines: list[str] = []
    for level, heading in _HEADINGS.items():
        chosen = [one for one in found if one.level is level]
        if chosen:
            lines.append(heading)
            for one in chosen:
                lines += _entry(one, column, max(width, 2 * _INDENT))
            lines.append('')
    counts = _count(found)
    return '\n'.join([*lines, ', '.join([
        findings.count(counts[findings.Level.PROBLEM], 'problem'),
        findings.count(counts[findings.Level.WARNING], 'warning'),
        f'{counts[findings.Level.OK]} OK'])])


def as_json(found: Sequence[findings.Finding], interface: str | None,
            capacity_ppm: int | None) -> str:
    counts = _count(found)
    content: dict[str, Any] = {
        'findings': [{'id': one.id, 'level': one.level.value,
                      'text': one.text, 'remedy': one.remedy or None}
                     for one in found],
        'summary': {'problems': counts[findings.Level.PROBLEM],
                    'warnings': counts[findings.Level.WARNING],
                    'ok': counts[findings.Level.OK]},
        'interface': interface,
        'capacity_ppm': capacity_ppm,
    }
    return json.dumps(content, indent=2)


def _entry(one: findings.Finding, column: int, width: int) -> Iterator[str]:
    head = f'  {one.id}'
    if len(head) + 2 > column:
        yield head
        head = ''
    yield from _wrapped(head.ljust(column) + one.text, column, width)
    if one.remedy:
        yield from _wrapped(' ' * column + '-> ' + one.remedy, column + 3,
                            width)


def _wrapped(line: str, indent: int, width: int) -> list[str]:
    # Long words are paths: better whole, to be copied.
    return textwrap.wrap(line, width, subsequent_indent=' ' * indent,
                         break_long_words=False, break_on_hyphens=False)


def _count(found: Sequence[findings.Finding]) -> dict[findings.Level, int]:
    return {level: sum(one.level is level for one in found)
            for level in findings.Level}
