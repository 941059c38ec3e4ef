# SPDX-License-Identifier: Apache-2.0

"""Writes values to the kernel, reads them back, and can undo the writes."""

from collections.abc import Callable, Iterator
import contextlib
from typing import Any, Protocol


class Cell(Protocol):
    """A file and the form of its value.

    Values can be compared; get and set raise OSError.
    """

    path: str

    def get(self) -> Any:
        """Returns the value that the kernel holds."""

    def set(self, value: Any) -> None:
        """Writes *value* by one write."""


#: What a journal calls before each write: with the file, the value that the
#: kernel holds, and the new value.
Watch = Callable[[Cell, Any, Any], None]


class Journal:
    """Remembers for each write the value that it replaced.

    :param watch: called before each write
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._done: list[tuple[Cell, Any]] = []

    def set(self, cell: Cell, value: Any) -> None:
        """Writes a value and reads it back, unless the kernel has it already.

        :raises OSError: when the kernel refuses, or when another value reads
            back
        """
        old = cell.get()
        if old == value:
            return
        self._watch(cell, old, value)
        self._done.append((cell, old))
        cell.set(value)
        stored = cell.get()
        if stored != value:
            raise OSError(f'{cell.path} reads {_shown(stored)} after '
                          f'{_shown(value)} was written')

    def undo(self) -> None:
        """Puts the old values back, the last one first.

        A group that was removed meanwhile is ignored, because its budget was
        removed, too.
        """
        while self._done:
            cell, old = self._done.pop()
            with contextlib.suppress(OSError, ValueError):
                current = cell.get()
                if current != old:
                    self._watch(cell, current, old)
                    cell.set(old)


def _shown(value: Any) -> str:
    return ' '.join(map(str, value)) if isinstance(value, tuple) else (
        str(value))


@contextlib.contextmanager
def journal(watch: Watch) -> Iterator[Journal]:
    """Yields a journal whose writes are undone when the block raises."""
    entries = Journal(watch)
    try:
        yield entries
    except BaseException:
        entries.undo()
        raise
