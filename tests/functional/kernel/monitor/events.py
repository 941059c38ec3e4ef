# SPDX-License-Identifier: Apache-2.0

"""Reads events of the scheduler one by one, by programs only for tests."""

from collections.abc import Iterable, Iterator
import enum
import pathlib
import struct
import subprocess

from rt_monitor import libbpf
from rt_monitor import objects

_SOURCE = pathlib.Path(__file__).with_name('events.bpf.c')
_EVENT = struct.Struct('=QII')
_COUNT = struct.Struct('=Q')


class Kind(enum.IntEnum):
    """As events.bpf.c has them."""

    WOKEN = 0
    PREEMPTED = 1
    SLEEPS = 2
    RUNS = 3
    GOES_ON = 4


class Recorder:
    """Records what happens to some tasks until it is closed."""

    def __init__(self, folder: pathlib.Path, pids: Iterable[int]) -> None:
        """Compiles the programs into *folder* and attaches them."""
        path = folder / 'events.bpf.o'
        subprocess.run(
            ['clang', '-O2', '-g', '-target', 'bpf', '-mcpu=v3', '-I',
             objects.path('sched').parent, '-c', _SOURCE, '-o', path],
            check=True)
        self._object = libbpf.Object(str(path))
        self._events = self._object.map('events')
        self._count = self._object.map('count')
        watched = self._object.map('watched')
        for pid in pids:
            watched.put(objects.key(pid), objects.key(1))
        self._object.attach()

    def close(self) -> None:
        self._object.close()

    def waits_ns(self) -> tuple[list[int], int]:
        """Returns how long the tasks together waited each time, ascending.

        They wait while one of them could run and none does; a task that goes
        on where another one stopped did not wait for others.

        :returns: the waits, and how many events the kernel did not send
        :raises OverflowError: there was no room for some events
        """
        runs, since, found, unsent, stopped = set(), {}, [], 0, 0
        for at, pid, kind in self._all():
            begins = kind in (Kind.RUNS, Kind.GOES_ON)
            if kind != Kind.WOKEN:
                # A task that begins to run did not run before, and a task that
                # stops ran.
                unsent += (pid in runs) == begins
            if begins:
                runs.add(pid)
                queued = since.pop(pid, None)
                if queued is not None and kind == Kind.RUNS:
                    found.append(at - max(queued, stopped))
            elif kind == Kind.WOKEN:
                if pid not in runs:
                    since.setdefault(pid, at)
            else:
                runs.discard(pid)
                stopped = at
                if kind == Kind.PREEMPTED:
                    since[pid] = at
        return sorted(found), unsent

    def _all(self) -> Iterator[tuple[int, int, int]]:
        data = self._count.get(objects.key(0))
        assert data is not None
        [count] = _COUNT.unpack(data)
        if count > self._events.entries:
            raise OverflowError(count)
        for index in range(count):
            event = self._events.get(objects.key(index))
            assert event is not None
            yield _EVENT.unpack(event)
