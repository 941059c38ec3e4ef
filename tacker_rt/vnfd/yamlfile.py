# SPDX-License-Identifier: Apache-2.0

"""Reads YAML from untrusted people safely.

PyYAML keeps the last of two equal keys and follows aliases into endless
structures, and its C parser overruns its stack on deep structures.  This
module refuses all of these before any value is built.
"""

from collections.abc import Iterator
import re
from typing import Any

import yaml

from tacker_rt import problem
from tacker_rt.vnfd import spaces

#: The most levels.
_DEPTH = 100
#: The most values as they are written.
_NODES = 200_000
#: The most values if values behind aliases are counted each time.
_VALUES = 1_000_000
#: The most digits of a number.
_DIGITS = 100

_INT = 'tag:yaml.org,2002:int'
_NULL = 'tag:yaml.org,2002:null'
#: Other numbers are read in a surprising way: YAML 1.1 takes 060000 for
#: 24576 and 1:30 for 90.
_DECIMAL = re.compile(r'[-+]?(0|[1-9][0-9]*)')
_NUMBERS = re.compile(r'.*_us|default')

_BASE = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


class _Refused(Exception):
    """A document is refused.  Its arguments are line, rule and advice."""


class _Loader(_BASE):  # type: ignore[misc, valid-type]
    """Counts depth and nodes before any value is built."""

    depth = 0
    nodes = 0

    def descend_resolver(self, parent: Any, index: Any) -> None:
        self.nodes += 1
        if self.nodes > _NODES:
            raise _Refused(parent.start_mark.line,
                           f'the file has more than {_NODES} values',
                           'give a shorter file')
        self.depth += 1
        if self.depth > _DEPTH:
            raise _Refused(parent.start_mark.line, f'the file is more than '
                           f'{_DEPTH} levels deep', 'use fewer levels')

    def ascend_resolver(self) -> None:
        self.depth -= 1


def load(place: problem.Place, data: bytes) -> Any:
    """Returns the one document in *data*.

    :returns: None if it cannot be read, with the problem in *place*
    """
    try:
        return _load(place, data.decode('utf-8'))
    except UnicodeDecodeError as error:
        line = data.count(b'\n', 0, error.start)
        _say(place, line, 'the file is not UTF-8 text',
             'save the file as UTF-8')
    except _Refused as error:
        _say(place, *error.args)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        _say(place, mark.line if mark else 0,
             f'this is not YAML '
             f'({" ".join(str(error.problem).split())[:80]})',
             'check the indentation and the quotes')
    except yaml.YAMLError:
        _say(place, 0, 'this is not YAML (control characters)',
             'save the file as plain text')
    return None


def _load(place: problem.Place, text: str) -> Any:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None or node.tag == _NULL:
            raise _Refused(0, 'the file is empty', 'write a YAML mapping')
        check = _Check(place)
        check.size(node)
        check.spaces(text)
        return loader.construct_document(node)
    except (_Refused, yaml.YAMLError):
        raise
    except Exception as error:
        # PyYAML raises errors of Python for !!int x, !!bool x, 2001-13-45.
        raise _Refused(0, f'a value is not valid for the type that its tag '
                       f'names or that YAML infers ({type(error).__name__})',
                       'put the value in quotes') from error
    finally:
        loader.dispose()


def _say(place: problem.Place, line: int, rule: str, advice: str) -> None:
    place.say(rule, advice, key=f'line {line + 1}')


class _Check:
    """Checks the nodes of a document."""

    def __init__(self, place: problem.Place):
        self._place = place
        self._sizes: dict[int, int] = {}
        self._open: set[int] = set()
        self._scalars: list[yaml.ScalarNode] = []

    def spaces(self, text: str) -> None:
        """Refuses odd spaces; must be called after :meth:`size`."""
        strange = spaces.strange(text, self._scalars)
        if strange:
            line, character = strange
            raise _Refused(line, f'{character} is outside of quotes, and '
                           'other readers of YAML refuse that',
                           'write spaces instead')

    def size(self, node: yaml.Node) -> int:
        """Returns the number of values, with aliases written out."""
        counted = self._sizes.get(id(node))
        if counted is not None:
            return counted
        if id(node) in self._open:
            raise _Refused(node.start_mark.line, 'an alias is inside the '
                           'value that it refers to', 'write the value out')
        self._open.add(id(node))
        size = 1 + sum(map(self.size, self._inner(node)))
        self._open.remove(id(node))
        if size > _VALUES:
            raise _Refused(node.start_mark.line,
                           f'the file has more than {_VALUES} values',
                           'use fewer aliases')
        self._sizes[id(node)] = size
        return size

    def _inner(self, node: yaml.Node) -> Iterator[yaml.Node]:
        if isinstance(node, yaml.MappingNode):
            self._keys(node)
            for pair in node.value:
                yield from pair
        elif isinstance(node, yaml.SequenceNode):
            yield from node.value
        else:
            self._scalars.append(node)
            if node.tag == _INT and len(node.value) > _DIGITS:
                raise _Refused(node.start_mark.line, 'a number has more than '
                               f'{_DIGITS} digits', 'put the number in '
                               'quotes')

    def _keys(self, node: yaml.MappingNode) -> None:
        keys = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if (key.tag, key.value) in keys:
                raise _Refused(
                    key.start_mark.line,
                    f'the mapping has the key {problem.name(key.value)} '
                    f'twice', 'keep one of the two')
            keys.add((key.tag, key.value))
            if (value.tag == _INT and _NUMBERS.fullmatch(key.value)
                    and not _DECIMAL.fullmatch(value.value)):
                _say(self._place, value.start_mark.line,
                     f'YAML reads {value.value} as another number',
                     'write the number in decimal digits, without a leading '
                     '0')
