# SPDX-License-Identifier: Apache-2.0

"""Ordered writes to the kernel that are read back and can be undone."""

from collections.abc import Callable, Iterator
import contextlib
from typing import Any, Protocol


class Cell(Protocol):
    """A file and the form of its value.

    Values can be compared; get and set raise OSError.
    """

    path: str

    def get(self) -> Any:
        """The value that the kernel holds."""

    def set(self, value: Any) -> None:
        """One write of *value*."""

    def takes(self, old: Any, new: Any) -> bool:
        """Whether the step from *old* to *new* takes all of a budget."""


class Journal:
    """Remembers for each step the value it replaced.

    :ivar watch: called before each write with the path and whether it
        takes all of a budget
    """

    def __init__(self, watch: Callable[[str, bool], None]) -> None:
        self._watch = watch
        self._done: list[tuple[Cell, Any]] = []

    def set(self, cell: Cell, value: Any) -> None:
        """Write and read back; nothing where the kernel has it already.

        :raises OSError: the kernel refused, or reads back another value
        """
        old = cell.get()
        if old == value:
            return
        self._watch(cell.path, cell.takes(old, value))
        self._done.append((cell, old))
        cell.set(value)
        found = cell.get()
        if found != value:
            raise OSError(f'{cell.path} reads {_shown(found)} after writing '
                          f'{_shown(value)}')

    def undo(self) -> None:
        """Put the old values back, last first.

        A group that was removed meanwhile took its budget with it.
        """
        while self._done:
            cell, old = self._done.pop()
            with contextlib.suppress(OSError, ValueError):
                found = cell.get()
                if found != old:
                    self._watch(cell.path, cell.takes(found, old))
                    cell.set(old)


def _shown(value: Any) -> str:
    return ' '.join(map(str, value)) if isinstance(value, tuple) else (
        str(value))


@contextlib.contextmanager
def journal(watch: Callable[[str, bool], None]) -> Iterator[Journal]:
    """A journal that undoes its writes when the block raises."""
    entries = Journal(watch)
    try:
        yield entries
    except BaseException:
        entries.undo()
        raise
