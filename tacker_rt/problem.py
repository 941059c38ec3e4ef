# SPDX-License-Identifier: Apache-2.0

"""What is wrong, and where: one line for each problem of a descriptor."""

from collections.abc import Iterable
import dataclasses
import difflib
from typing import Any

_WIDTH = 80


def shown(value: Any) -> str:
    """Any value in one line and at no length."""
    return repr(value)[:_WIDTH]


def name(text: Any) -> str:
    """A name or key as it stands, or quoted where it would break the line."""
    if isinstance(text, str) and text and text.isprintable():
        return text[:_WIDTH]
    return shown(text)


def path(text: str) -> str:
    """As *name*, at its whole length."""
    return text if text.isprintable() else repr(text)


def nearest(word: Any, known: Iterable[str], otherwise: str = '') -> str:
    """Advice for a word that is not known."""
    words = sorted(map(str, known))
    close = difflib.get_close_matches(str(word), words, n=1, cutoff=0.7)
    if close:
        return f'did you mean {close[0]}?'
    return otherwise or 'use ' + ' or '.join(words) if words else 'remove it'


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


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where a reader is, and where it leaves the problems that it meets."""

    found: list[Problem]
    file: str
    vdu: str | None = None
    policy: str | None = None

    def of(self, vdu: str | None) -> 'Place':
        """The same place, for what concerns one VDU."""
        return dataclasses.replace(self, vdu=vdu)

    def has_problem(self) -> bool:
        """Of the VDU that the reader is at."""
        return any(one.vdu == self.vdu for one in self.found)

    def add(self, key: Any, value: Any, rule: str, advice: str) -> None:
        """Of one value."""
        self.found.append(Problem(
            self.file, rule, advice, vdu=self.vdu, policy=self.policy,
            key=name(key), value=shown(value)))

    def say(self, rule: str, advice: str, key: str | None = None) -> None:
        """Of something that has no value."""
        self.found.append(Problem(self.file, rule, advice, vdu=self.vdu,
                                  policy=self.policy, key=key))

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
