# SPDX-License-Identifier: Apache-2.0

"""A network function as a file: what to start, where, and what it does.

Format nova-rt-profile/1, which doc/source/cli/nova-rt-pinning.rst describes.
"""

from collections.abc import Mapping
import dataclasses
import enum
import re
import shutil
from typing import Any

from nova_rt.rules import exception
from nova_rt.rules import workload
from rt_models.interference import yamlfile

FORMAT = 'nova-rt-profile/1'
#: Where its files are, and a capture of traffic, in the words of a command.
FOLDER, CAPTURE = '{folder}', '{capture}'

_KEYS = ('format', 'type', 'title', 'needs', 'files', 'prepare', 'start',
         'load', 'work')
_FILE = re.compile(r'[A-Za-z0-9_.-]{1,64}')
_MOST = {'size': 1400, 'flows': 1000, 'port': 65535, 'connections': 1000}


class Namespace(enum.StrEnum):
    """Where a command runs; traffic goes from the client to the server."""

    CLIENT = 'client'
    FUNCTION = 'function'
    SERVER = 'server'


@dataclasses.dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments."""

    where: Namespace
    words: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Packets:
    """UDP from the client to the server, as much as there is CPU time for.

    :ivar size: bytes of payload
    :ivar flows: how many ports it comes from
    """

    size: int
    flows: int


@dataclasses.dataclass(frozen=True, slots=True)
class Requests:
    """HTTP from the client to the function; each answer is work."""

    port: int
    connections: int


@dataclasses.dataclass(frozen=True, slots=True)
class Runs:
    """A command that is run again and again.

    :ivar pattern: its work is the sum of the numbers that this finds in its
        output
    """

    command: Command
    pattern: str


@dataclasses.dataclass(frozen=True, slots=True)
class Profile:
    """One network function.

    :ivar type: what it is called in the matrix
    :ivar needs: programs that must be installed
    :ivar files: texts by name
    :ivar prepare: commands that end before the next one begins
    :ivar start: commands that go on
    :ivar load: traffic, whoever counts the work
    :ivar work: None: what the server gets of the load, in packets
    """

    type: str
    title: str
    needs: tuple[str, ...]
    files: Mapping[str, str]
    prepare: tuple[Command, ...]
    start: tuple[Command, ...]
    load: Packets | None
    work: Requests | Runs | None

    @property
    def missing(self) -> str:
        """The first program that it needs and that is not installed, or ''."""
        return next((name for name in self.needs
                     if shutil.which(name) is None), '')


def load(path: str) -> Profile:
    """The profile in a file.

    :raises InvalidMatrix: one sentence with the key and what to do
    """
    return _Reader(path, yamlfile.load(path)).read()


class _Reader:
    """One document, read part by part."""

    def __init__(self, path: str, data: Mapping[Any, Any]) -> None:
        self._path, self._data = path, data

    def read(self) -> Profile:
        yamlfile.known(self._path, self._data, _KEYS)
        if self._data.get('format') != FORMAT:
            raise self._bad('format', 'it is another one', f'give {FORMAT}')
        name = self._data.get('type')
        if not isinstance(name, str) or not workload.is_type(name):
            raise self._bad('type', 'a type has 1 to 32 letters, digits, _, '
                            '. or -', 'name it as the matrix will')
        packets = self._packets()
        work = self._work(packets)
        return Profile(
            name, self._text('title', self._data.get('title', name)),
            tuple(self._text('needs', one) for one in self._list('needs')),
            self._files(), self._commands('prepare'),
            self._commands('start'), packets, work)

    def _files(self) -> dict[str, str]:
        found = self._mapping('files', self._data.get('files') or {})
        for name in found:
            if not _FILE.fullmatch(str(name)) or str(name).startswith('.'):
                raise self._bad(f'files.{str(name)[:80]}', 'it is no plain '
                                'name of a file', 'use letters, digits, _ '
                                'and -')
        return {str(name): self._text(f'files.{name}', text)
                for name, text in found.items()}

    def _commands(self, key: str) -> tuple[Command, ...]:
        return tuple(self._command(f'{key}[{number}]', one)
                     for number, one in enumerate(self._list(key)))

    def _command(self, where: str, data: Any) -> Command:
        found = self._mapping(where, data)
        try:
            place = Namespace(str(found.get('in')))
        except ValueError:
            raise self._bad(f'{where}.in', 'it is no namespace',
                            f'give {", ".join(Namespace)}') from None
        words = found.get('run')
        if not isinstance(words, list) or not words:
            raise self._bad(f'{where}.run', 'it is no list of words',
                            'write it as [program, argument]')
        return Command(place, tuple(self._text(f'{where}.run', word)
                                    for word in words))

    def _packets(self) -> Packets | None:
        if 'load' not in self._data:
            return None
        data = self._mapping('load', self._data['load'])
        return Packets(self._number('load', data, 'size', 100),
                       self._number('load', data, 'flows', 64))

    def _work(self, packets: Packets | None) -> Requests | Runs | None:
        data = self._data.get('work')
        if data == 'packets' and packets:
            return None
        if isinstance(data, dict) and [*data] == ['requests']:
            found = self._mapping('work.requests', data['requests'])
            return Requests(
                self._number('work.requests', found, 'port', 80),
                self._number('work.requests', found, 'connections', 8))
        if isinstance(data, dict) and [*data] == ['runs']:
            found = self._mapping('work.runs', data['runs'])
            return Runs(self._command('work.runs', found),
                        self._pattern(found.get('count')))
        raise self._bad('work', 'nothing says how it is counted', 'give '
                        'packets (with a load), requests or runs')

    def _pattern(self, text: Any) -> str:
        where = 'work.runs.count'
        try:
            groups = re.compile(self._text(where, text)).groups
        except re.error:
            groups = 0
        if groups != 1:
            raise self._bad(where, 'it is no regular expression with one '
                            'group', r"write it as 'packets: (\d+)'")
        return str(text)

    def _list(self, key: str) -> list[Any]:
        found = self._data.get(key) or []
        if not isinstance(found, list):
            raise self._bad(key, 'it is no list', 'write it as [...]')
        return found

    def _mapping(self, where: str, data: Any) -> Mapping[Any, Any]:
        if not isinstance(data, dict):
            raise self._bad(where, 'it is no mapping',
                            'write it as {name: value}')
        return data

    def _number(self, where: str, data: Mapping[Any, Any], key: str,
                default: int) -> int:
        value, most = data.get(key, default), _MOST[key]
        if type(value) is not int or not 0 < value <= most:
            raise self._bad(f'{where}.{key}', f'{str(value)[:80]!r} is no '
                            f'whole number from 1 to {most}',
                            f'give for example {default}')
        return value

    def _text(self, where: str, value: Any) -> str:
        if not isinstance(value, str) or '\0' in value:
            raise self._bad(where, 'it is no text', 'put it in quotes')
        return value

    def _bad(self, where: str, rule: str, advice: str
             ) -> exception.InvalidMatrix:
        return yamlfile.refused(self._path, where, rule, advice)
