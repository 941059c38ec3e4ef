# SPDX-License-Identifier: Apache-2.0

"""What a campaign has measured so far: a line of CSV for each result."""

import dataclasses
import datetime
import os
import pathlib

from nova_rt.rules import exception
from rt_models.colocation import csvfile


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One result.

    :ivar target: its type
    :ivar competitor: that of the other; '' for none
    :ivar rate: what the target did a second
    :ivar setting: how, in words
    :ivar started: the minute, in UTC
    """

    target: str
    competitor: str
    rate: float
    setting: str
    started: str = ''
    load_average: float = 0.0


_COLUMNS = tuple(field.name for field in dataclasses.fields(Record))


class Records:
    """A file of results, whether it exists or not.

    :param setting: that of all results in it
    :raises InvalidMatrix: it is a file of something else
    """

    def __init__(self, path: pathlib.Path, setting: str) -> None:
        self._path, self._setting = path, setting
        self.all = self._read()
        for one in self.all:
            if one.setting != setting:
                raise self._bad(
                    f'it was measured {one.setting}, and not {setting}',
                    'go on in the same way, or name another output')

    def of(self, target: str, competitor: str) -> list[float]:
        """The rates of a target beside a competitor."""
        return [one.rate for one in self.all
                if (one.target, one.competitor) == (target, competitor)]

    def add(self, target: str, competitor: str, rate: float) -> None:
        """Write it at once: what was measured is not lost."""
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
            raise self._bad('it is no file of results',
                            'name another output') from None

    def _bad(self, rule: str, advice: str) -> exception.InvalidMatrix:
        return exception.InvalidMatrix(path=self._path, where='the results',
                                       rule=rule, advice=advice)


def _record(row: list[str]) -> Record:
    """:raises ValueError: it is no line of ours"""
    target, competitor, rate, setting, started, load = row
    return Record(target, competitor, float(rate), setting, started,
                  float(load))
