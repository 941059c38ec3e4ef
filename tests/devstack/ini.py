# SPDX-License-Identifier: Apache-2.0

"""A stand-in for DevStack's ini functions; called by stand_in.sh.

usage: ini.py set FILE SECTION OPTION VALUE
       ini.py set_multiline FILE SECTION OPTION VALUE...
       ini.py get FILE SECTION OPTION
"""

import pathlib
import re
import sys


class Ini:
    """A file as lines; lines that are not changed stay as they are."""

    def __init__(self, path: str, section: str, option: str) -> None:
        self.path = pathlib.Path(path)
        text = self.path.read_text() if self.path.exists() else ''
        self.lines = text.splitlines()
        self.header = f'[{section}]'
        self.option = option
        self.pattern = re.compile(rf'({re.escape(option)}[ \t]*=[ \t]*)(.*)')

    def found(self) -> list[int]:
        """Returns the numbers of the lines with the option, in its section."""
        numbers, inside = [], False
        for number, line in enumerate(self.lines):
            if line.startswith('['):
                inside = line.startswith(self.header)
            elif inside and self.pattern.match(line):
                numbers.append(number)
        return numbers

    def values(self) -> list[str]:
        return [self.pattern.match(self.lines[number])[2]
                for number in self.found()]

    def add(self, *values: str) -> None:
        """Inserts lines below the header of the section, in this order."""
        if not any(line.startswith(self.header) for line in self.lines):
            self.lines += ['', self.header]
        self.lines = [
            each for line in self.lines for each in (
                line, *(f'{self.option} = {value}' for value in values
                        if line.startswith(self.header)))]

    def save(self) -> None:
        self.path.write_text(''.join(f'{line}\n' for line in self.lines))


def set_one(ini: Ini, value: str = '') -> None:
    value = ' '.join(value.split())
    for number in ini.found():
        ini.lines[number] = ini.pattern.match(ini.lines[number])[1] + value
    if not ini.found():
        ini.add(value)
    ini.save()


def set_multiline(ini: Ini, *values: str) -> None:
    gone = set(ini.found())
    ini.lines = [line for number, line in enumerate(ini.lines)
                 if number not in gone]
    ini.add(*values)
    ini.save()


def get(ini: Ini) -> None:
    """Prints all values as words."""
    print(' '.join(' '.join(ini.values()).split()))


COMMANDS = {'set': set_one, 'set_multiline': set_multiline, 'get': get}


if __name__ == '__main__':
    COMMANDS[sys.argv[1]](Ini(*sys.argv[2:5]), *sys.argv[5:])
