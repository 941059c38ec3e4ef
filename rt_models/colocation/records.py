# SPDX-License-Identifier: Apache-2.0

"""The results of a campaign so far, a line of CSV for each."""

import dataclasses
import datetime
import os
import pathlib

from nova_rt.rules import exception
from rt_models.colocation import csvfile


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """A result of a campaign.

    :ivar target: the type of the function that was measured
    :ivar competitor: the type of the function beside it; '': none
    :ivar rate: the work of the target per second
    :ivar setting: the setting of the measurement, as text
    :ivar started: the time of the result to the minute, in UTC
    :ivar load_average: the load average of the host at that time
    """

    target: str
    competitor: str
    rate: float
    setting: str
    started: str = ''
    load_average: float = 0.0


_COLUMNS = tuple(field.name for field in dataclasses.fields(Record))


class Records:
    """A file of results, which need not exist yet.

    :param setting: the setting of all results in the file
    :raises InvalidMatrix: when the file has other content, or results of
        another setting
    """

    def __init__(self, path: pathlib.Path, setting: str) -> None:
        self._path, self._setting = path, setting
        self.all = self._read()
        for record in self.all:
            if record.setting != setting:
                raise self._bad(
                    f'the results were measured {record.setting}, and not '
                    f'{setting}',
                    'give the same options again, or name another output')

    def rates(self, target: str, competitor: str) -> list[float]:
        """Returns the rates of a target beside a competitor."""
        return [record.rate for record in self.all
                if (record.target, record.competitor)
                == (target, competitor)]

    def add(self, target: str, competitor: str, rate: float) -> None:
        """Adds a result and writes it to the file at once."""
        now = f'{datetime.datetime.now(datetime.UTC):%FT%H:%MZ}'
        record = Record(target, competitor, float(f'{rate:.6g}'),
                        self._setting, now, round(os.getloadavg()[0], 1))
        csvfile.append(self._path, _COLUMNS, dataclasses.astuple(record))
        self.all.append(record)

    def _read(self) -> list[Record]:
        try:
            return [_record(row) for row in csvfile.read(self._path,
                                                         _COLUMNS)]
        except ValueError:
            raise self._bad('this is not a file of results',
                            'name another output') from None

    def _bad(self, rule: str, advice: str) -> exception.InvalidMatrix:
        return exception.InvalidMatrix(path=self._path, where='the results',
                                       rule=rule, advice=advice)


def _record(row: list[str]) -> Record:
    """Returns the result in a line.

    :raises ValueError: when the line is not a result
    """
    target, competitor, rate, setting, started, load = row
    return Record(target, competitor, float(rate), setting, started,
                  float(load))
