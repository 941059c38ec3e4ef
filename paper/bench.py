# SPDX-License-Identifier: Apache-2.0

"""How an experiment is to be done: where, how long, from which seed."""

from collections.abc import Callable, Sequence
import contextlib
import dataclasses
import math
import pathlib

from nova_rt.rules import reservation as rt_reservation
from paper import measure
from paper import rtwalk

#: A server with a reservation: the command that starts its clients.
Place = Callable[[rtwalk.Endpoint, rt_reservation.Reservation],
                 contextlib.AbstractContextManager[Sequence[str]]]


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one experiment.

    :param directory: where results go; it exists
    :param seed_base: the first seed; others follow it
    """

    directory: pathlib.Path
    place: Place
    effort: measure.Effort
    seed_base: int


@dataclasses.dataclass(frozen=True, slots=True)
class Extent:
    """Which part of many points one command measures.

    :param data: the file of runs, which may have some
    :param run_s: seconds that a run lasts
    :param seconds: start no run later than this
    :param only: patterns of names of points, as those of files
    :param first: measure no more points of each curve; None: all
    """

    data: pathlib.Path
    run_s: float = 1.0
    seconds: float = math.inf
    only: Sequence[str] = ('*',)
    first: int | None = None
