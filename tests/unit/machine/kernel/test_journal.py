# SPDX-License-Identifier: Apache-2.0

"""machine.kernel.journal: writes that are read back and can be undone."""

from collections.abc import Callable
import errno
import unittest

from nova_rt.machine.kernel import journal
from tests.unit.machine.kernel import base


class Cell:
    """A number in a file; *events* are those of the test.

    :ivar rounds: what is stored in place of a number
    """

    def __init__(self, path: str, value: int, events: list[str]) -> None:
        self.path = path
        self.value = value
        self.events = events
        self.rounds: dict[int, int] = {}
        self.error: Exception | None = None
        self.broken: Callable[[], Exception] | None = None

    def get(self) -> int:
        if self.broken is not None:
            raise self.broken()
        return self.value

    def set(self, value: int) -> None:
        if self.error is not None:
            raise self.error
        self.events.append(f'{self.path}={value}')
        self.value = self.rounds.get(value, value)


class JournalTest(unittest.TestCase):
    """Changes are undone in reverse order, for every end of the block."""

    def setUp(self) -> None:
        self.events: list[str] = []
        self.seen: list[str] = []
        self.one = Cell('one', 1, self.events)
        self.two = Cell('two', 2, self.events)

    def watch(self, cell: journal.Cell, old: int, new: int) -> None:
        if old and not new:
            self.events.append(f'drain {cell.path}')
        else:
            self.seen.append(cell.path)

    def test_keeps_what_succeeded(self) -> None:
        with journal.journal(self.watch) as entries:
            entries.set(self.one, 10)
            entries.set(self.two, 20)
        self.assertEqual(['one=10', 'two=20'], self.events)

    def test_does_not_write_an_equal_value(self) -> None:
        with journal.journal(self.watch) as entries:
            entries.set(self.one, 1)
        self.assertEqual([], self.events)

    def test_undoes_last_first(self) -> None:
        for error in (RuntimeError, KeyboardInterrupt):
            self.events.clear()
            with self.assertRaises(error), journal.journal(
                    self.watch) as entries:
                entries.set(self.one, 10)
                entries.set(self.two, 20)
                entries.set(self.one, 11)
                raise error
            self.assertEqual(['one=10', 'two=20', 'one=11',
                              'one=10', 'two=2', 'one=1'], self.events)

    def test_a_refused_write(self) -> None:
        self.two.error = base.refuse(errno.EINVAL)
        with self.assertRaises(OSError) as caught, journal.journal(
                self.watch) as entries:
            entries.set(self.one, 10)
            entries.set(self.two, 20)
        self.assertIs(self.two.error, caught.exception)
        self.assertEqual((1, 2), (self.one.value, self.two.value))
        self.assertEqual(['one=10', 'one=1'], self.events)

    def test_another_value_is_read_back(self) -> None:
        """The write of the other value is undone, too."""
        self.one.rounds = {10: 9}
        with self.assertRaisesRegex(
                OSError, 'one reads 9 after 10 was written'), journal.journal(
                self.watch) as entries:
            entries.set(self.one, 10)
        self.assertEqual(['one=10', 'one=1'], self.events)

    def test_drains_before_a_budget_is_taken(self) -> None:
        with journal.journal(self.watch) as entries:
            entries.set(self.one, 5)
            entries.set(self.two, 0)
        self.assertEqual(['one=5', 'drain two', 'two=0'], self.events)

    def test_drains_before_an_undo_takes_a_budget(self) -> None:
        self.one.value = 0
        with self.assertRaises(RuntimeError), journal.journal(
                self.watch) as entries:
            entries.set(self.one, 5)
            raise RuntimeError
        self.assertEqual(['one=5', 'drain one', 'one=0'], self.events)

    def test_all_other_writes_are_watched_too(self) -> None:
        """A value that is replaced may be in force a while yet."""
        with self.assertRaises(RuntimeError), journal.journal(
                self.watch) as entries:
            entries.set(self.one, 5)
            entries.set(self.two, 2)
            raise RuntimeError
        self.assertEqual(['one', 'one'], self.seen)

    def test_undo_passes_over_what_is_gone(self) -> None:
        """A removed group took its budget with it."""
        for number in (errno.ENOENT, errno.ENODEV):
            self.setUp()

            def gone(number: int = number) -> Exception:
                return base.refuse(number)

            with self.assertRaises(RuntimeError), journal.journal(
                    self.watch) as entries:
                entries.set(self.one, 10)
                entries.set(self.two, 20)
                self.two.broken = gone
                raise RuntimeError
            self.assertEqual(1, self.one.value)

    def test_undo_passes_over_what_is_refused_or_unreadable(self) -> None:
        with self.assertRaises(RuntimeError), journal.journal(
                self.watch) as entries:
            three = Cell('three', 3, self.events)
            entries.set(self.one, 10)
            entries.set(self.two, 20)
            entries.set(three, 30)
            three.broken = ValueError
            self.two.error = base.refuse(errno.EPERM)
            raise RuntimeError
        self.assertEqual(1, self.one.value)
