# SPDX-License-Identifier: Apache-2.0

"""The settings of an experiment: where, how long, from which seed."""

from collections.abc import Callable, Sequence
import contextlib
import dataclasses
import math
import pathlib

from nova_rt.rules import reservation as rt_reservation
from paper import measure
from paper import rtwalk

#: A context with a reserved server, which gives the command for clients.
Place = Callable[[rtwalk.Endpoint, rt_reservation.Reservation],
                 contextlib.AbstractContextManager[Sequence[str]]]


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one experiment.

    :param directory: an existing directory for the results
    :param seed_base: the first seed; the others follow
    """

    directory: pathlib.Path
    place: Place
    effort: measure.Effort
    seed_base: int


@dataclasses.dataclass(frozen=True, slots=True)
class Extent:
    """The part of many points that one command measures.

    :param data: the file of runs, which may already contain runs
    :param run_s: seconds that a run lasts
    :param seconds: no run starts later than this
    :param only: patterns of the names of points, like those of files
    :param first: measure no more points of each curve; None: all
    :param scale: the factor between all times and the paper's
    """

    data: pathlib.Path
    run_s: float = 1.0
    seconds: float = math.inf
    only: Sequence[str] = ('*',)
    first: int | None = None
    scale: int = 1
