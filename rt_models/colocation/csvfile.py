# SPDX-License-Identifier: Apache-2.0

"""A CSV file to which a campaign adds a line as soon as it has a result.

A campaign that is interrupted thus loses no result, and a later command
continues with the file.
"""

from collections.abc import Sequence
import csv
import pathlib


def read(path: pathlib.Path, columns: Sequence[str]) -> list[list[str]]:
    """Returns all lines but the first, which names the columns.

    :returns: [] where there is no file
    :raises ValueError: when the file has other content; its text is the reason
    """
    if not path.exists():
        return []
    with path.open(newline='', encoding='utf-8') as file:
        try:
            header, *rows = csv.reader(file)
        except csv.Error as error:
            raise ValueError(str(error)) from error
    if header != [*columns]:
        raise ValueError('the first line has other columns')
    if any(len(row) != len(columns) for row in rows):
        raise ValueError('a line has more or fewer columns than the first')
    return rows


def append(path: pathlib.Path, columns: Sequence[str], row: Sequence[object]
           ) -> None:
    """Adds a line to a file, and creates the file if it does not exist."""
    new = not path.exists()
    with path.open('a', newline='', encoding='utf-8') as file:
        writer = csv.writer(file, lineterminator='\n')
        if new:
            writer.writerow(columns)
        writer.writerow(row)


def short(value: object) -> str:
    """Returns a value as text: five digits of a float, '' for None."""
    if value is None:
        return ''
    return f'{value:.5g}' if isinstance(value, float) else str(value)
