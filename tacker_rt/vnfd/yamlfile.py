# SPDX-License-Identifier: Apache-2.0

"""YAML from people: read with the least that can go wrong.

PyYAML keeps the last of two equal keys, follows aliases into structures
without end, and its C parser overruns its stack on deep ones.  All these
are refused here, before anything is built.
"""

from collections.abc import Iterator
import re
from typing import Any

import yaml

from tacker_rt import problem
from tacker_rt.vnfd import spaces

_DEPTH = 100
#: Of all values as they are written.
_NODES = 200_000
#: Of all values, those behind aliases counted each time.
_VALUES = 1_000_000
_DIGITS = 100

_INT = 'tag:yaml.org,2002:int'
_NULL = 'tag:yaml.org,2002:null'
#: YAML 1.1 takes 060000 for 24576 and 1:30 for 90.
_DECIMAL = re.compile(r'[-+]?(0|[1-9][0-9]*)')
_NUMBERS = re.compile(r'.*_us|default')

_BASE = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


class _Refused(Exception):
    """Line, rule and advice."""


class _Loader(_BASE):  # type: ignore[misc, valid-type]
    """Counts depth and nodes while there is only a tree of these."""

    depth = 0
    nodes = 0

    def descend_resolver(self, parent: Any, index: Any) -> None:
        self.nodes += 1
        if self.nodes > _NODES:
            raise _Refused(parent.start_mark.line,
                           f'it has more than {_NODES} values',
                           'a descriptor is shorter')
        self.depth += 1
        if self.depth > _DEPTH:
            raise _Refused(parent.start_mark.line, f'it is more than {_DEPTH} '
                           'levels deep', 'write it with fewer')

    def ascend_resolver(self) -> None:
        self.depth -= 1


def load(place: problem.Place, data: bytes) -> Any:
    """The one document in *data*; None with the problem left in *place*."""
    try:
        return _load(place, data.decode('utf-8'))
    except UnicodeDecodeError as error:
        line = data.count(b'\n', 0, error.start)
        _say(place, line, 'it is not UTF-8 text', 'save it as UTF-8')
    except _Refused as error:
        _say(place, *error.args)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        _say(place, mark.line if mark else 0,
             f'it is not YAML ({" ".join(str(error.problem).split())[:80]})',
             'check the indentation and the quotes')
    except yaml.YAMLError:
        _say(place, 0, 'it is not YAML (control characters)',
             'save it as plain text')
    return None


def _load(place: problem.Place, text: str) -> Any:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None or node.tag == _NULL:
            raise _Refused(0, 'it is empty', 'write a YAML mapping')
        check = _Check(place)
        check.size(node)
        check.spaces(text)
        return loader.construct_document(node)
    except (_Refused, yaml.YAMLError):
        raise
    except Exception as error:
        # !!int x, !!bool x, 2001-13-45: PyYAML raises what Python does.
        raise _Refused(0, f'a value is not of its type '
                       f'({type(error).__name__})', 'quote it') from error
    finally:
        loader.dispose()


def _say(place: problem.Place, line: int, rule: str, advice: str) -> None:
    place.say(rule, advice, key=f'line {line + 1}')


class _Check:
    """What must hold of the nodes of a document."""

    def __init__(self, place: problem.Place):
        self._place = place
        self._sizes: dict[int, int] = {}
        self._open: set[int] = set()
        self._scalars: list[yaml.ScalarNode] = []

    def spaces(self, text: str) -> None:
        """To be called for the text after :meth:`size`."""
        found = spaces.strange(text, self._scalars)
        if found:
            raise _Refused(found[0], f'{found[1]} stands outside of quotes, '
                           'which other readers of YAML refuse',
                           'write spaces')

    def size(self, node: yaml.Node) -> int:
        """How many values there are, with aliases written out."""
        known = self._sizes.get(id(node))
        if known is not None:
            return known
        if id(node) in self._open:
            raise _Refused(node.start_mark.line, 'an alias stands within '
                           'what it names', 'write it out')
        self._open.add(id(node))
        size = 1 + sum(map(self.size, self._inner(node)))
        self._open.remove(id(node))
        if size > _VALUES:
            raise _Refused(node.start_mark.line,
                           f'it has more than {_VALUES} values',
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
                               f'{_DIGITS} digits', 'quote it')

    def _keys(self, node: yaml.MappingNode) -> None:
        seen = set()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if (key.tag, key.value) in seen:
                raise _Refused(
                    key.start_mark.line,
                    f'the key {problem.name(key.value)} is there twice',
                    'keep one of them')
            seen.add((key.tag, key.value))
            if (value.tag == _INT and _NUMBERS.fullmatch(key.value)
                    and not _DECIMAL.fullmatch(value.value)):
                _say(self._place, value.start_mark.line,
                     f'YAML takes {value.value} for another number',
                     'write it in decimal digits, without a 0 before them')
