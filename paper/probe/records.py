# SPDX-License-Identifier: Apache-2.0

"""The data: a line for each cell, written as soon as it is measured."""

import dataclasses
import datetime
import os
import pathlib
from typing import Any

from nova_rt.rules import exception
from rt_models.colocation import csvfile


class BadData(exception.RTError):
    """The file that the command should continue is not of this campaign."""

    msg_fmt = ('%(path)s is not a file of this campaign: %(reason)s.  Name '
               'another file with --data.')


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One measurement.

    :ivar row: the row of the table of bars
    :ivar cell: the settings, or the number of a repetition
    :ivar method: the method of the report, if there is one
    :ivar value: the value that the probe reported, or a measured value of the
        probe
    :ivar truth: the value that was measured from outside
    """

    row: str
    cell: str
    value: float | None
    truth: float | None = None
    lower: float | None = None
    upper: float | None = None
    method: str = ''
    started: str = ''
    load_average: float = 0.0


COLUMNS = tuple(field.name for field in dataclasses.fields(Record))
_TEXTS = ('row', 'cell', 'method', 'started')


class Data:
    """A file of records, whether it exists or not.

    :raises BadData: when the file is not a file of this campaign
    """

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self.records = _read(path)

    def has(self, row: str, cell: str) -> bool:
        """Returns whether a cell was measured."""
        return any((one.row, one.cell) == (row, cell)
                   for one in self.records)

    def select(self, row: str) -> list[Record]:
        """Returns the records of a row."""
        return [one for one in self.records if one.row == row]

    def add(self, record: Record) -> None:
        """Writes a record at once, with the time and the machine's load."""
        record = dataclasses.replace(
            record, started=f'{datetime.datetime.now(datetime.UTC):%FT%H:%MZ}',
            load_average=os.getloadavg()[0])
        csvfile.append(self._path, COLUMNS, [
            csvfile.short(getattr(record, name)) for name in COLUMNS])
        self.records.append(record)
        print(f'{record.row} {record.cell}: {csvfile.short(record.value)} '
              f'{record.method}, truth {csvfile.short(record.truth)}',
              flush=True)


def _read(path: pathlib.Path) -> list[Record]:
    try:
        return [Record(**{name: _value(name, cell) for name, cell
                          in zip(COLUMNS, row, strict=True)})
                for row in csvfile.read(path, COLUMNS)]
    except ValueError as error:
        raise BadData(path=path, reason=error) from error


def _value(name: str, cell: str) -> Any:
    if name in _TEXTS:
        return cell
    return float(cell) if cell else None
