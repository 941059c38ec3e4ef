# SPDX-License-Identifier: Apache-2.0

"""What is wrong, and where: one line for each problem of a descriptor."""

from collections.abc import Iterable, Iterator
import dataclasses
import difflib
from typing import Any

#: So many of a descriptor are told.
MOST = 200
_WIDTH = 80
#: So many known words are compared with one that is not, or listed.
_KNOWN = 50


def shown(value: Any) -> str:
    """Any value in one line and at no length; what is cut is not made."""
    text = ''
    for part in _parts(value):
        text += part
        if len(text) >= _WIDTH:
            break
    return text[:_WIDTH]


def _parts(value: Any) -> Iterator[str]:
    """Those of its repr."""
    if isinstance(value, dict | list):
        opening, closing = '{}' if isinstance(value, dict) else '[]'
        yield opening
        for number, item in enumerate(value):
            yield ', ' if number else ''
            yield from _parts(item)
            if isinstance(value, dict):
                yield ': '
                yield from _parts(value[item])
        yield closing
    else:
        yield repr(value[:_WIDTH] if isinstance(value, str) else value)


def name(text: Any) -> str:
    """A name or key as it stands, or quoted where it would break the line."""
    if isinstance(text, str) and text and text.isprintable():
        return text[:_WIDTH]
    return shown(text)


def path(text: str) -> str:
    """The same as *name*, at its whole length."""
    return text if text.isprintable() else repr(text)


def nearest(word: Any, known: Iterable[str], otherwise: str = '') -> str:
    """Advice for a word that is not known."""
    words = sorted(map(str, known))
    if len(words) > _KNOWN:
        return otherwise or f'use one of the {len(words)} that are known'
    if len(str(word)) <= _WIDTH:
        close = difflib.get_close_matches(
            str(word), [one for one in words if len(one) <= _WIDTH], n=1,
            cutoff=0.7)
        if close:
            return f'did you mean {name(close[0])}?'
    return (otherwise or 'use ' + ' or '.join(map(name, words)) if words
            else 'remove it')


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """One thing that must be changed before the descriptor can be used.

    *rule* says what is wrong and *advice* what to do; *value* is text.
    """

    file: str
    rule: str
    advice: str
    vdu: str | None = None
    policy: str | None = None
    key: str | None = None
    value: str | None = None

    def __str__(self) -> str:
        where = [path(self.file)]
        if self.vdu is not None:
            where.append(f'VDU {name(self.vdu)}')
        if self.policy is not None:
            where.append(f'policy {name(self.policy)}')
        if self.key is not None:
            where.append(self.key if self.value is None
                         else f'{self.key}={self.value}')
        end = '' if self.advice.endswith('?') else '.'
        return f'{": ".join(where)}: {self.rule}; {self.advice}{end}'

    def as_dict(self) -> dict[str, Any]:
        """Its parts and, as ``text``, the whole of it."""
        return {**dataclasses.asdict(self), 'text': str(self)}


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """The place of a reader, which collects the problems that it meets."""

    found: list[Problem]
    file: str
    vdu: str | None = None
    policy: str | None = None

    def of(self, vdu: str | None) -> 'Place':
        """The same place, for what concerns one VDU."""
        return dataclasses.replace(self, vdu=vdu)

    def has_problem(self) -> bool:
        """Whether the VDU that the reader is at has one."""
        return any(one.vdu == self.vdu for one in self.found)

    def add(self, key: Any, value: Any, rule: str, advice: str) -> None:
        """Adds a problem of one value."""
        self.put(Problem(
            self.file, rule, advice, vdu=self.vdu, policy=self.policy,
            key=name(key), value=shown(value)))

    def say(self, rule: str, advice: str, key: str | None = None) -> None:
        """Adds a problem of something that has no value."""
        self.put(Problem(self.file, rule, advice, vdu=self.vdu,
                         policy=self.policy, key=key))

    def put(self, one: Problem) -> None:
        """Up to MOST, and that there are more."""
        if len(self.found) < MOST:
            self.found.append(one)
        elif len(self.found) == MOST:
            self.found.append(Problem(
                self.file, 'it has more problems than are told',
                'correct these first'))

    def section(self, parent: dict[Any, Any], *keys: str) -> dict[Any, Any]:
        """The mapping below *keys*; empty where there is none."""
        for key in keys:
            value = parent.get(key)
            if value is None:
                return {}
            if not isinstance(value, dict):
                self.add(key, value, 'it must be a mapping',
                         'indent what belongs to it below it')
                return {}
            parent = value
        return parent
