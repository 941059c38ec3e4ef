# SPDX-License-Identifier: Apache-2.0

"""The table of kernels in the documentation: what each gave in the lab."""

from collections.abc import Iterable, Mapping
import csv
import io
import json
import pathlib
import re
from typing import Any, NamedTuple

from lab import jobs
from lab import programs
from lab import verdict

HEADER = ('Kernel', 'Release', 'cgroup', 'CPUs', 'Clock', 'Guests',
          'Interface', 'Doctor', 'Conformance', 'Share within', 'Tests',
          'Proven', 'Outcome')
#: How time goes, by whether it goes by instructions.
CLOCKS = {True: 'deterministic', False: 'host'}
_NONE = '-'
#: Jobs whose results have columns of their own.
_COLUMNS = ('doctor', 'conformance')
#: Where a JSON object begins: with a line.
_OBJECT = re.compile(r'^\{(?=\n|")', re.MULTILINE)


class Row(NamedTuple):
    """One boot, for readers; the columns of HEADER."""

    kernel: str
    release: str
    cgroup: str
    cpus: str
    clock: str
    guests: str
    interface: str
    doctor: str
    conformance: str
    within: str
    tests: str
    proven: str
    outcome: str

    @property
    def kind(self) -> tuple[str, ...]:
        """Tells one kind of boot from another."""
        return self.kernel, self.cgroup, self.cpus, self.clock


def record(path: pathlib.Path, label: str, found: verdict.Verdict) -> None:
    """Put a boot into the table, in place of an earlier one of its kind.

    :param label: what readers call this kernel
    :raises LabError: the file is no such table
    """
    rows = parse(path.read_text()) if path.exists() else []
    path.write_text(text(merged(rows, row(label, found))))


def parse(content: str) -> list[Row]:
    """The rows below the header.

    :raises LabError: it is another table
    """
    rows = list(csv.reader(io.StringIO(content)))
    if not rows or tuple(rows[0]) != HEADER:
        raise programs.LabError(
            'the file of --record is no table of the lab: name one that it '
            'wrote, or one that is not there')
    return [Row(*one) for one in rows[1:]]


def merged(rows: Iterable[Row], new: Row) -> list[Row]:
    """Rows in order, with one for each kind of boot."""
    return sorted([*(one for one in rows if one.kind != new.kind), new])


def text(rows: Iterable[Row]) -> str:
    """As a file of comma-separated values."""
    file = io.StringIO()
    csv.writer(file, lineterminator='\n').writerows([HEADER, *rows])
    return file.getvalue()


def row(label: str, found: verdict.Verdict) -> Row:
    """What one boot adds to the table."""
    contents = {one.name: _json(one) for one in found.results}
    doctor, conformance = (contents.get(name, {}) for name in _COLUMNS)
    interface = conformance.get('interface') or doctor.get('interface')
    return Row(
        label, found.release or _NONE, found.cgroup, str(found.cpus),
        CLOCKS[found.icount], _list(jobs.GUESTS, found.results),
        interface or 'none', _doctor(doctor), _levels(conformance),
        _worst(contents.values()), _tests(found.results),
        _list(jobs.PROVES, [one for one in found.results if not one.status]),
        '; '.join(found.deaths[:1]) or found.outcome.name.lower())


def _list(of_job: Mapping[str, str], results: Iterable[jobs.Result]) -> str:
    """What these jobs stand for, each once."""
    found = dict.fromkeys(of_job[one.name] for one in results
                          if one.name in of_job and one.status is not None)
    return ', '.join(found) or _NONE


def _json(result: jobs.Result) -> dict[str, Any]:
    """The object that a job printed, after whatever else it said."""
    begin = _OBJECT.search(result.output)
    if begin is None:
        return {}
    try:
        content, _ = json.JSONDecoder().raw_decode(
            result.output, begin.start())
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _doctor(content: dict[str, Any]) -> str:
    """Counts, and what it says of the interface where there is none."""
    if 'summary' not in content:
        return _NONE
    counts = ', '.join(f'{content["summary"][name]} {name}'
                       for name in ('problems', 'warnings'))
    kernel = [one['text'] for one in content['findings']
              if one['id'] == 'kernel.interface' and one['level'] != 'OK']
    return '. '.join([counts, *kernel])


def _levels(content: dict[str, Any]) -> str:
    cases = content.get('cases', [])
    levels = [one['level'] for one in cases]
    counts = ', '.join(f'{levels.count(level)} {level}' for level
                       in ('kept', 'known', 'broken') if level in levels)
    broken = ', '.join(one['case'] for one in cases
                       if one['level'] == 'broken')
    return (f'{counts} ({broken})' if broken else counts) or _NONE


def _worst(contents: Iterable[dict[str, Any]]) -> str:
    """How far a share was off at most, in CPUs."""
    found = [content['worst'] for content in contents
             if content.get('worst') is not None]
    return f'{max(found):.4f}' if found else _NONE


def _tests(results: Iterable[jobs.Result]) -> str:
    """What has no column of its own."""
    return '; '.join(f'{one.name}: {_test(one)}' for one in results
                     if one.name not in _COLUMNS) or _NONE


def _test(one: jobs.Result) -> str:
    """What the job counted, else what it says of itself, else how it ended."""
    if one.passed or one.failed:
        return (f'{one.passed} passed, {one.failed} failed, '
                f'{one.skipped} skipped')
    if one.status is None:
        return 'did not end'
    return str(_json(one).get('sentence')
               or ('failed' if one.status else 'passed'))
