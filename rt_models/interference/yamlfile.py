# SPDX-License-Identifier: Apache-2.0

"""YAML from an operator, read with what must hold of any such file.

PyYAML keeps the last of two equal keys and follows aliases without end;
both are refused.
"""

from collections.abc import Collection, Mapping
import difflib
from typing import Any

import yaml

from nova_rt.rules import exception

#: A matrix of 50 types has 40 KB.
_LARGEST = 1_000_000


def load(path: str) -> dict[str, Any]:
    """The one mapping in a file.

    :raises InvalidMatrix: one sentence with the line
    """
    text = _text(path)
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        if not isinstance(node, yaml.MappingNode):
            raise refused(path, 'the file', 'it is no YAML mapping',
                          'begin it with "format: ..."')
        _check(path, node, '', set())
        found: dict[str, Any] = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise refused(
            path, f'line {mark.line + 1 if mark else 1}',
            f'it is not YAML ({" ".join(str(error.problem).split())[:80]})',
            'check the indentation and the quotes') from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        raise refused(path, 'the file', 'it is not YAML that can be read',
                      'write it as plain text, less deep') from None
    return found


def known(path: str, data: Mapping[Any, Any], keys: Collection[str]) -> None:
    """Refuse what stands at the top of a file and is none of the keys.

    :raises InvalidMatrix: one sentence with the nearest key
    """
    for key in data:
        if key not in keys:
            near = difflib.get_close_matches(str(key), keys, 1, 0)
            raise refused(path, str(key)[:80], 'there is no such key',
                          f'the nearest is {near[0]}')


def refused(path: str, where: str, rule: str, advice: str
            ) -> exception.InvalidMatrix:
    return exception.InvalidMatrix(path=path, where=where, rule=rule,
                                   advice=advice)


def _text(path: str) -> str:
    try:
        with open(path, 'rb') as handle:
            data = handle.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise refused(path, 'the file', f'it has more than {_LARGEST} '
                          'bytes', 'give a matrix')
        return data.decode('utf-8')
    except UnicodeDecodeError:
        raise refused(path, 'the file', 'it is not UTF-8 text',
                      'save it as UTF-8') from None
    except (OSError, ValueError) as error:
        why = getattr(error, 'strerror', None) or str(error)
        raise refused(path, 'the file', f'it cannot be read ({why})',
                      'name one that can') from None


def _check(path: str, node: yaml.Node, where: str, seen: set[int]) -> None:
    """Refuse equal keys, by their path, and aliases."""
    if id(node) in seen:
        raise refused(path, f'line {node.start_mark.line + 1}',
                      'an alias repeats a value', 'write it out')
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys = set()
        for key, value in node.value:
            name = f'{where}{key.value}'
            if (key.tag, str(key.value)) in keys:
                raise refused(
                    path, f'line {key.start_mark.line + 1}',
                    f'the key {name} is there twice', 'keep one of them')
            keys.add((key.tag, str(key.value)))
            _check(path, value, f'{name}.', seen)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _check(path, value, where, seen)
