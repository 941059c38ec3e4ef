# SPDX-License-Identifier: Apache-2.0

"""The table of kernels in the documentation: the results of the lab."""

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
          'Interface', 'Sells', 'Doctor', 'Conformance', 'Share within',
          'Tests', 'Proven', 'Outcome')
#: The name of the clock, by whether the clock counts instructions.
CLOCKS = {True: 'deterministic', False: 'host'}
_NONE = '-'
#: The jobs whose results have columns of their own.
_COLUMNS = ('doctor', 'conformance')
#: A JSON object begins at the start of a line.
_OBJECT = re.compile(r'^\{(?=\n|")', re.MULTILINE)


class Row(NamedTuple):
    """One boot as a row for readers, with the columns of HEADER."""

    kernel: str
    release: str
    cgroup: str
    cpus: str
    clock: str
    guests: str
    interface: str
    sells: str
    doctor: str
    conformance: str
    within: str
    tests: str
    proven: str
    outcome: str

    @property
    def kind(self) -> tuple[str, ...]:
        """Returns a key that distinguishes the kinds of boots."""
        return self.kernel, self.cgroup, self.cpus, self.clock


def record(path: pathlib.Path, label: str, boot: verdict.Verdict) -> None:
    """Adds a boot to the table, in place of an earlier boot of its kind.

    :param label: the name of this kernel for readers
    :raises LabError: when the file is not a table of the lab
    """
    rows = parse(path.read_text()) if path.exists() else []
    path.write_text(text(merged(rows, row(label, boot))))


def parse(content: str) -> list[Row]:
    """Returns the rows below the header.

    :raises LabError: when the file is another table
    """
    rows = list(csv.reader(io.StringIO(content)))
    if not rows or tuple(rows[0]) != HEADER:
        raise programs.LabError(
            'the file of --record is not a table of the lab: name a table '
            'that the lab wrote, or a new file')
    return [Row(*one) for one in rows[1:]]


def merged(rows: Iterable[Row], new: Row) -> list[Row]:
    """Returns the rows in order, one for each kind of boot."""
    return sorted([*(one for one in rows if one.kind != new.kind), new])


def text(rows: Iterable[Row]) -> str:
    """Returns the table as comma-separated values."""
    file = io.StringIO()
    csv.writer(file, lineterminator='\n').writerows([HEADER, *rows])
    return file.getvalue()


def row(label: str, boot: verdict.Verdict) -> Row:
    """Returns the row that one boot adds to the table."""
    contents = {one.name: _json(one) for one in boot.results}
    doctor, conformance = (contents.get(name, {}) for name in _COLUMNS)
    interface = conformance.get('interface') or doctor.get('interface')
    return Row(
        label, boot.release or _NONE, boot.cgroup, str(boot.cpus),
        CLOCKS[boot.icount], _list(jobs.GUESTS, boot.results),
        interface or 'none', _sells(doctor, conformance), _doctor(doctor),
        _levels(conformance), _worst(contents.values()),
        _tests(boot.results),
        _list(jobs.PROVES, [one for one in boot.results if not one.status]),
        '; '.join(boot.deaths[:1]) or boot.outcome.name.lower())


def _list(of_job: Mapping[str, str], results: Iterable[jobs.Result]) -> str:
    """Returns the words for these jobs, each word once."""
    words = dict.fromkeys(of_job[one.name] for one in results
                          if one.name in of_job and one.status is not None)
    return ', '.join(words) or _NONE


def _json(result: jobs.Result) -> dict[str, Any]:
    """Returns the JSON object that a job printed, after any other output."""
    begin = _OBJECT.search(result.output)
    if begin is None:
        return {}
    try:
        content, _ = json.JSONDecoder().raw_decode(
            result.output, begin.start())
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _sells(*contents: dict[str, Any]) -> str:
    """Returns how much of the CPUs of the machine may be reserved.

    doctor writes nothing, so on some kernels doctor cannot know this before
    nova-compute has started; conformance prepares the kernel.
    """
    known = [content for content in contents
             if content.get('capacity_ppm') is not None]
    if not known:
        return _NONE
    best = max(known, key=lambda content: content['capacity_ppm'])
    return (f'{best["capacity_ppm"] / 1_000_000:.2f} '
            f'{"of each" if best.get("of_each_pcpu") else "in all"}')


def _doctor(content: dict[str, Any]) -> str:
    """Returns doctor's counts, and its reason if there is no interface."""
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
    """Returns the largest error of a share, in CPUs."""
    values = [content['worst'] for content in contents
              if content.get('worst') is not None]
    return f'{max(values):.4f}' if values else _NONE


def _tests(results: Iterable[jobs.Result]) -> str:
    """Returns the results of jobs that have no column of their own."""
    return '; '.join(f'{one.name}: {_test(one)}' for one in results
                     if one.name not in _COLUMNS) or _NONE


def _test(one: jobs.Result) -> str:
    """Returns a job's counts of tests, else its summary or last output."""
    if one.passed or one.failed:
        return (f'{one.passed} passed, {one.failed} failed, '
                f'{one.skipped} skipped')
    if one.status is None:
        return 'did not end'
    return str(_json(one).get('sentence')
               or ('failed' if one.status else 'passed'))
