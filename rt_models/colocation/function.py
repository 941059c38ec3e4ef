# SPDX-License-Identifier: Apache-2.0

"""Starts the processes of a profile and reads how much work they have done."""

from collections.abc import Iterator, Sequence
import contextlib
import dataclasses
import pathlib
import subprocess
import sys
import time

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.colocation import capture
from rt_models.colocation import group as rt_group
from rt_models.colocation import load
from rt_models.colocation import network as rt_network
from rt_models.colocation import profile as rt_profile

#: The longest time that a function may take for a piece of work.
_PATIENCE_S = 15.0
_POLL_S = 0.001
#: The port "discard", at which nobody listens.
_PORT = '9'
#: The names of our own files.  The files of a profile do not begin with a
#: dot.
_COUNTER, _CAPTURE = '.work', '.capture'


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """The work that a function has done until some time.

    :ivar work: the work, in the unit of the function
    :ivar at_ns: the time by the monotonic clock
    :ivar used_ns: the CPU time of the function's group
    """

    work: int
    at_ns: int
    used_ns: int


class Function:
    """The processes of one profile, in a group and namespaces of their own.

    :raises CannotMeasure: when one of the profile's commands fails
    """

    def __init__(self, profile: rt_profile.Profile, group: rt_group.Group,
                 folder: pathlib.Path) -> None:
        self._profile, self._group = profile, group
        self._folder, self._counter = folder, str(folder / _COUNTER)
        load.begin(self._counter)
        self._network = rt_network.Namespaces(group)
        self._started: list[tuple[Sequence[str], subprocess.Popen[str]]] = []
        capture.write(str(folder / _CAPTURE))
        for name, text in profile.files.items():
            (folder / name).write_text(text)
        for command in profile.prepare:
            self._network.run(command.where, self._words(command))
        for command in profile.start:
            self._start(command.where, self._words(command))
        self._start_work()

    def edge(self) -> Point:
        """Waits until the next piece of work is done and returns this point.

        :raises CannotMeasure: when a process has ended, or the function does
            no work
        """
        before, end = self._work(), time.monotonic() + _PATIENCE_S
        while time.monotonic() < end:
            self._check()
            work = self._work()
            if work != before:
                return Point(work, time.monotonic_ns(),
                             self._group.used_ns())
            time.sleep(_POLL_S)
        raise self._failed(f'it did no work in {_PATIENCE_S:.0f} s')

    def _work(self) -> int:
        if self._profile.work is None:
            return self._network.received()
        return load.count(self._counter)

    def _check(self) -> None:
        for words, process in self._started:
            if process.poll() is not None:
                _, errors = process.communicate()
                raise rt_group.failed(words, errors)

    def _start_work(self) -> None:
        packets, work = self._profile.load, self._profile.work
        if packets:
            self._load('packets', rt_network.SERVER, _PORT,
                       str(packets.size), str(packets.flows))
        if isinstance(work, rt_profile.Requests):
            self._load('requests', self._counter, rt_network.FUNCTION,
                       str(work.port), str(work.connections))
        elif isinstance(work, rt_profile.Runs):
            self._start(work.command.where, [
                *_program('runs', self._counter, work.pattern),
                *self._words(work.command)])

    def _load(self, *words: str) -> None:
        self._start(rt_profile.Namespace.CLIENT, _program(*words), True)

    def _start(self, where: rt_profile.Namespace, words: Sequence[str],
               is_load: bool = False) -> None:
        # Some functions, for example Apache, send a signal to their whole
        # session when they end, so each has a session of its own.
        self._started.append((words, subprocess.Popen(
            self._group.command(self._network.inside(where, words), is_load),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True)))

    def _words(self, command: rt_profile.Command) -> list[str]:
        places = {rt_profile.FOLDER: self._folder,
                  rt_profile.CAPTURE: self._folder / _CAPTURE}
        words = list(command.words)
        for name, path in places.items():
            words = [word.replace(name, str(path)) for word in words]
        return words

    def _failed(self, reason: str) -> exception.CannotMeasure:
        return exception.CannotMeasure(what=self._profile.type,
                                       reason=reason)


def _program(*words: str) -> list[str]:
    return [sys.executable, '-S', load.__file__, *words]


@contextlib.contextmanager
def running(profile: rt_profile.Profile, name: str, cpu: int,
            reservation: rt_reservation.Reservation | None
            ) -> Iterator[Function]:
    """Runs a function until the end of the block.

    :param name: the name of the function's group
    :param reservation: the reservation of the group; None: the processes are
        ordinary
    :raises CannotMeasure: when the function cannot be started
    :raises KernelError: when the host has no room for the reservation
    """
    with rt_group.up(name, (cpu,), reservation) as group:
        yield Function(profile, group, group.folder)
