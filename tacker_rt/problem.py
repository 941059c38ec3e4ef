# SPDX-License-Identifier: Apache-2.0

"""The problems of a descriptor, each as one line."""

from collections.abc import Iterable, Iterator
import dataclasses
import difflib
from typing import Any

#: At most this many problems of a descriptor are reported.
MOST = 200
_WIDTH = 80
#: At most this many known words are listed, or compared with a wrong word.
_KNOWN = 50


def shown(value: Any) -> str:
    """Returns the beginning of the text of a value, in one line.

    The function never makes the text beyond the limit, because the text may be
    very long.
    """
    text = ''
    for part in _parts(value):
        text += part
        if len(text) >= _WIDTH:
            break
    return text[:_WIDTH]


def _parts(value: Any) -> Iterator[str]:
    """Yields the parts of the text of a value."""
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
    """Returns a name or key, quoted if it would break the line."""
    if isinstance(text, str) and text and text.isprintable():
        return text[:_WIDTH]
    return shown(text)


def path(text: str) -> str:
    """Returns a path in its full length, quoted if it breaks the line."""
    return text if text.isprintable() else repr(text)


def nearest(word: Any, known: Iterable[str], otherwise: str = '') -> str:
    """Returns advice for a word that is not known.

    :param known: the words that are known
    :param otherwise: the advice if no known word is similar
    """
    words = sorted(map(str, known))
    if len(words) > _KNOWN:
        return otherwise or f'use one of the {len(words)} known names'
    if len(str(word)) <= _WIDTH:
        close = difflib.get_close_matches(
            str(word), [short for short in words if len(short) <= _WIDTH],
            n=1, cutoff=0.7)
        if close:
            return f'did you mean {name(close[0])}?'
    return (otherwise or 'use ' + ' or '.join(map(name, words)) if words
            else 'remove it')


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """A problem that must be corrected before the descriptor can be used.

    :ivar rule: what is wrong, as a clause
    :ivar advice: what to do, as a clause
    :ivar value: the wrong value as text
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
        """Returns the fields and, as ``text``, the whole sentence."""
        return {**dataclasses.asdict(self), 'text': str(self)}


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """The place that is being read, which collects its problems.

    :ivar problems: the list to which problems are added
    """

    problems: list[Problem]
    file: str
    vdu: str | None = None
    policy: str | None = None

    def for_vdu(self, vdu: str | None) -> 'Place':
        """Returns the same place for problems of one VDU."""
        return dataclasses.replace(self, vdu=vdu)

    def has_problem(self) -> bool:
        """Tells whether the VDU of this place has a problem."""
        return any(one.vdu == self.vdu for one in self.problems)

    def add(self, key: Any, value: Any, rule: str, advice: str) -> None:
        """Adds a problem of a value."""
        self.put(Problem(
            self.file, rule, advice, vdu=self.vdu, policy=self.policy,
            key=name(key), value=shown(value)))

    def say(self, rule: str, advice: str, key: str | None = None) -> None:
        """Adds a problem of something without a value."""
        self.put(Problem(self.file, rule, advice, vdu=self.vdu,
                         policy=self.policy, key=key))

    def put(self, one: Problem) -> None:
        """Adds a problem; after MOST problems, one that says so."""
        if len(self.problems) < MOST:
            self.problems.append(one)
        elif len(self.problems) == MOST:
            self.problems.append(Problem(
                self.file, f'only the first {MOST} problems are shown',
                'correct these first'))

    def section(self, parent: dict[Any, Any], *keys: str) -> dict[Any, Any]:
        """Returns the mapping below *keys*; {} if there is none.

        A value that is not a mapping is a problem.
        """
        for key in keys:
            value = parent.get(key)
            if value is None:
                return {}
            if not isinstance(value, dict):
                self.add(key, value, 'the value must be a mapping',
                         'indent the keys of the mapping below its name')
                return {}
            parent = value
        return parent
