# SPDX-License-Identifier: Apache-2.0

"""Reads the profile of a network function: what to start and what to count.

The format is nova-rt-profile/1, which doc/source/cli/nova-rt-pinning.rst
describes.
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
#: Placeholders in the words of a command: the directory of the profile's
#: files, and the capture of traffic.
FOLDER, CAPTURE = '{folder}', '{capture}'

_KEYS = ('format', 'type', 'title', 'needs', 'files', 'prepare', 'start',
         'load', 'work')
_FILE = re.compile(r'[A-Za-z0-9_.-]{1,64}')
_MOST = {'size': 1400, 'flows': 1000, 'port': 65535, 'connections': 1000}


class Namespace(enum.StrEnum):
    """The namespace that a command runs in.

    Traffic goes from the client to the server.
    """

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
    """UDP packets from the client to the server, at the highest rate.

    :ivar size: the bytes of payload of a packet
    :ivar flows: the number of ports that the packets come from
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

    :ivar pattern: a regular expression.  The work of a run is the sum of the
        numbers that the pattern finds in the output.
    """

    command: Command
    pattern: str


@dataclasses.dataclass(frozen=True, slots=True)
class Profile:
    """A network function.

    :ivar type: the name of its type in the matrix
    :ivar needs: the programs that must be installed
    :ivar files: the contents of its files, by name
    :ivar prepare: commands that run one after the other before the start
    :ivar start: commands that keep running
    :ivar load: the packets that are sent to it; None: no packets
    :ivar work: how its work is counted; None: the work is the packets of the
        load that reach the server
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
        """The first needed program that is not installed; '': none."""
        return next((name for name in self.needs
                     if shutil.which(name) is None), '')


def load(path: str) -> Profile:
    """Returns the profile in a file.

    :raises InvalidMatrix: when the file is not a valid profile; its text is
        one sentence with the key and what to do
    """
    return _Reader(path, yamlfile.load(path)).read()


class _Reader:
    """Reads a document part by part."""

    def __init__(self, path: str, data: Mapping[Any, Any]) -> None:
        self._path, self._data = path, data

    def read(self) -> Profile:
        """Returns the profile.

        :raises InvalidMatrix: when a part of the document is not valid
        """
        yamlfile.check_keys(self._path, self._data, _KEYS)
        if self._data.get('format') != FORMAT:
            raise self._bad(
                'format', f'{yamlfile.shown(self._data["format"])} is not '
                'the format of a profile' if 'format' in self._data
                else 'the key is missing', f'give {FORMAT}')
        name = self._data.get('type')
        if not isinstance(name, str) or not workload.is_type(name):
            raise self._bad('type', 'the name of a type has 1 to 32 letters, '
                            'digits, _, . or -', 'give the name that the '
                            'matrix will have')
        packets = self._packets()
        work = self._work(packets)
        return Profile(
            name, self._text('title', self._data.get('title', name)),
            tuple(self._text('needs', program)
                  for program in self._list('needs')),
            self._files(), self._commands('prepare'),
            self._commands('start'), packets, work)

    def _files(self) -> dict[str, str]:
        files = self._mapping('files', self._data.get('files') or {})
        for name in files:
            if not _FILE.fullmatch(str(name)) or str(name).startswith('.'):
                raise self._bad(f'files.{str(name)[:80]}', 'this is not a '
                                'plain file name', 'use letters, digits, _ '
                                'and -')
        return {str(name): self._text(f'files.{name}', text)
                for name, text in files.items()}

    def _commands(self, key: str) -> tuple[Command, ...]:
        return tuple(self._command(f'{key}[{number}]', command)
                     for number, command in enumerate(self._list(key)))

    def _command(self, where: str, data: Any) -> Command:
        command = self._mapping(where, data)
        try:
            place = Namespace(str(command.get('in')))
        except ValueError:
            *others, last = Namespace
            raise self._bad(
                f'{where}.in', f'{yamlfile.shown(command["in"])} is not a '
                'namespace' if 'in' in command else 'the key is missing',
                f'give {", ".join(others)} or {last}') from None
        words = command.get('run')
        if not isinstance(words, list) or not words:
            raise self._bad(f'{where}.run', 'this is not a list of words',
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
            requests = self._mapping('work.requests', data['requests'])
            return Requests(
                self._number('work.requests', requests, 'port', 80),
                self._number('work.requests', requests, 'connections', 8))
        if isinstance(data, dict) and [*data] == ['runs']:
            runs = self._mapping('work.runs', data['runs'])
            return Runs(self._command('work.runs', runs),
                        self._pattern(runs.get('count')))
        raise self._bad('work', 'the profile does not say how work is counted',
                        'give packets (with a load), requests or runs')

    def _pattern(self, text: Any) -> str:
        where = 'work.runs.count'
        try:
            groups = re.compile(self._text(where, text)).groups
        except re.error:
            groups = 0
        if groups != 1:
            raise self._bad(where, 'this is not a regular expression with '
                            'one group', r"write for example 'packets: "
                            r"(\d+)'")
        return str(text)

    def _list(self, key: str) -> list[Any]:
        items = self._data.get(key) or []
        if not isinstance(items, list):
            raise self._bad(key, 'this is not a list', 'write it as [...]')
        return items

    def _mapping(self, where: str, data: Any) -> Mapping[Any, Any]:
        if not isinstance(data, dict):
            raise self._bad(where, 'this is not a mapping',
                            'write it as {name: value}')
        return data

    def _number(self, where: str, data: Mapping[Any, Any], key: str,
                default: int) -> int:
        value, most = data.get(key, default), _MOST[key]
        if type(value) is not int or not 0 < value <= most:
            raise self._bad(f'{where}.{key}', f'{yamlfile.shown(value)} is '
                            f'not a whole number from 1 to {most}',
                            f'give for example {default}')
        return value

    def _text(self, where: str, value: Any) -> str:
        if not isinstance(value, str) or '\0' in value:
            raise self._bad(where, 'this is not text', 'put it in quotes')
        return value

    def _bad(self, where: str, rule: str, advice: str
             ) -> exception.InvalidMatrix:
        return yamlfile.refused(self._path, where, rule, advice)
