# SPDX-License-Identifier: Apache-2.0

"""A file of CSV to which a campaign adds a line at once for each result.

What was measured is not lost, and a later command goes on with it.
"""

from collections.abc import Sequence
import csv
import pathlib


def read(path: pathlib.Path, columns: Sequence[str]) -> list[list[str]]:
    """All lines but the first, which names the columns; [] of no file.

    :raises ValueError: it is a file of something else, with the reason
    """
    if not path.exists():
        return []
    with path.open(newline='', encoding='utf-8') as file:
        try:
            header, *rows = csv.reader(file)
        except csv.Error as error:
            raise ValueError(str(error)) from error
    if header != [*columns]:
        raise ValueError('its first line has other columns')
    if any(len(row) != len(columns) for row in rows):
        raise ValueError('a line has more or fewer columns than the first')
    return rows


def append(path: pathlib.Path, columns: Sequence[str], row: Sequence[object]
           ) -> None:
    """Add a line to a file, which is made first where there is none."""
    new = not path.exists()
    with path.open('a', newline='', encoding='utf-8') as file:
        writer = csv.writer(file, lineterminator='\n')
        if new:
            writer.writerow(columns)
        writer.writerow(row)


def short(value: object) -> str:
    """A value as it is written: five digits of a float, '' for None."""
    if value is None:
        return ''
    return f'{value:.5g}' if isinstance(value, float) else str(value)
