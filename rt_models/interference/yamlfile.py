# SPDX-License-Identifier: Apache-2.0

"""Reads YAML from an operator and checks what must hold of any file.

PyYAML keeps the last of two equal keys, and follows aliases without a limit.
This module refuses equal keys and aliases.
"""

from collections.abc import Collection, Mapping
import difflib
from typing import Any

import yaml

from nova_rt.rules import exception

#: The largest file in bytes.  A matrix of 50 types has 40 KB.
_LARGEST = 1_000_000


def load(path: str) -> dict[str, Any]:
    """Returns the mapping in a file.

    :raises InvalidMatrix: when the file is not a YAML mapping; its text is one
        sentence with the line
    """
    text = _text(path)
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        if not isinstance(node, yaml.MappingNode):
            raise refused(path, 'the file', 'it is not a YAML mapping',
                          'begin it with "format: ..."')
        _check(path, node, '', set())
        document: dict[str, Any] = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise refused(
            path, f'line {mark.line + 1 if mark else 1}',
            f'it is not YAML ({" ".join(str(error.problem).split())[:80]})',
            'check the indentation and the quotes') from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        raise refused(path, 'the file', 'it is not YAML that can be read',
                      'write plain text with less nesting') from None
    return document


def check_keys(path: str, data: Mapping[Any, Any], keys: Collection[str]
               ) -> None:
    """Checks that the top level of a file has only known keys.

    :raises InvalidMatrix: when a key is not known; its text is one sentence
        with the nearest key
    """
    for key in data:
        if key not in keys:
            near = difflib.get_close_matches(str(key), keys, 1, 0)
            raise refused(path, str(key)[:80], 'this key is not known',
                          f'the nearest key is {near[0]}')


def shown(value: Any) -> str:
    """Returns a value in quotes, at most 80 characters, for a message."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return repr(text[:80])


def refused(path: str, where: str, rule: str, advice: str
            ) -> exception.InvalidMatrix:
    """Returns the error for a file that is refused.

    :param where: the line or the cell
    :param rule: the rule that is broken
    :param advice: what to do
    """
    return exception.InvalidMatrix(path=path, where=where, rule=rule,
                                   advice=advice)


def _text(path: str) -> str:
    try:
        with open(path, 'rb') as handle:
            data = handle.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise refused(path, 'the file', f'it has more than {_LARGEST} '
                          'bytes', 'name another file')
        return data.decode('utf-8')
    except UnicodeDecodeError:
        raise refused(path, 'the file', 'it is not UTF-8 text',
                      'save it as UTF-8') from None
    except (OSError, ValueError) as error:
        why = getattr(error, 'strerror', None) or str(error)
        raise refused(path, 'the file', f'it cannot be read ({why})',
                      'name a file that can be read') from None


def _check(path: str, node: yaml.Node, where: str, visited: set[int]) -> None:
    """Refuses equal keys, which the message names by their path, and aliases.

    :param visited: the identities of the nodes that were checked already
    """
    if id(node) in visited:
        raise refused(path, f'line {node.start_mark.line + 1}',
                      'a value is repeated by an alias',
                      'write the value itself')
    visited.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys = set()
        for key, value in node.value:
            name = f'{where}{key.value}'
            if (key.tag, str(key.value)) in keys:
                raise refused(
                    path, f'line {key.start_mark.line + 1}',
                    f'the key {name} is given twice', 'keep one of them')
            keys.add((key.tag, str(key.value)))
            _check(path, value, f'{name}.', visited)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _check(path, value, where, visited)
