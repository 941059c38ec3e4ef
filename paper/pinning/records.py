# SPDX-License-Identifier: Apache-2.0

"""The data: a line for each piece of work, written at its end."""

import dataclasses
import datetime
import os
import pathlib
from typing import Self

from nova_rt.rules import exception
from rt_models.colocation import csvfile


class BadData(exception.RTError):
    """The file that the command should continue is not of this campaign."""

    msg_fmt = ('%(path)s is not a file of this campaign: %(reason)s.  Name '
               'another file with --data.')


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One piece of work.

    :ivar wall_s: how long the work took
    :ivar cpu_s: the CPU time that its group used
    """

    workload: str
    way: str
    wall_s: float
    cpu_s: float
    started: str = ''
    load_average: float = 0.0

    @classmethod
    def from_row(cls, row: list[str]) -> Self:
        """Reads a line.

        :raises ValueError: when the line does not belong to this campaign
        """
        workload, way, wall, cpu, started, load = row
        return cls(workload, way, float(wall), float(cpu), started,
                   float(load))


COLUMNS = tuple(field.name for field in dataclasses.fields(Record))


class Data:
    """A file of records, whether it exists or not.

    :raises BadData: when the file is not a file of this campaign
    """

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        try:
            self.records = [Record.from_row(row)
                            for row in csvfile.read(path, COLUMNS)]
        except ValueError as error:
            raise BadData(path=path, reason=error) from error

    def select(self, workload: str, way: str) -> list[Record]:
        """Returns the records of one kind of work done in one way."""
        return [one for one in self.records
                if (one.workload, one.way) == (workload, way)]

    def add(self, workload: str, way: str, wall_s: float, cpu_s: float
            ) -> None:
        """Writes a record at once, with the time and the machine's load."""
        now = f'{datetime.datetime.now(datetime.UTC):%FT%H:%MZ}'
        record = Record(workload, way, wall_s, cpu_s, now,
                        round(os.getloadavg()[0], 2))
        csvfile.append(self._path, COLUMNS, [
            csvfile.short(value) for value in dataclasses.astuple(record)])
        self.records.append(record)
        print(f'{workload}, {way}: {wall_s:.2f} s, {cpu_s:.3f} CPU s',
              flush=True)
