# SPDX-License-Identifier: Apache-2.0

"""The cells of the campaign, each with random values.

A cell yields a place with a load in it.  Beside the place a neighbour keeps
both CPUs busy, so that the host has no idle time.
"""

from collections.abc import Callable, Iterator
import contextlib
import os
import random

from paper.probe import stage as rt_stage
from tests.full.probe import places

#: Each run has a name of its own, because a kill may leave a group for a
#: moment.
_NAME = 'nova-rt-probe'
#: An ordinary weight, and one that replaces a guarantee.
_WEIGHT, _GUARANTEED = 1024, 100_000

#: Starts as many busy loops as the first argument says, then the rest.
_LOADS = ('for load in $(seq "$1"); do (while :; do :; done) & done; shift; '
          'exec "$@"')

Cell = Callable[[random.Random], contextlib.AbstractContextManager[
    places.Place]]


def _name(kind: str) -> str:
    return f'{_NAME}-{kind}-{os.getpid()}'


def _wants(rng: random.Random) -> list[float]:
    """Draws the loads: none, small ones, or more than there can be."""
    return rng.choice([[], [0.2], [1.0], [1.0, 1.0], [1.0] * 4])


def _loads(rng: random.Random) -> tuple[str, ...]:
    """Draws loads that the probe can see, in the same namespaces."""
    return 'sh', '-c', _LOADS, 'sh', str(rng.choice([0, 1, 2]))


def _container(rng: random.Random) -> tuple[str, ...]:
    return *places.CONTAINER, *_loads(rng)


@contextlib.contextmanager
def _beside(name: str, rng: random.Random) -> Iterator[None]:
    """Runs a busy neighbour in a group of its own, or none."""
    other = f'{name}-other'
    with places.groups(other), places.loads(
            other, rng.choice([[], [1.0, 1.0]])):
        yield


@contextlib.contextmanager
def unlimited(rng: random.Random) -> Iterator[places.Place]:
    """A container without a limit."""
    name = _name('none')
    with places.groups(name), _beside(name, rng), places.loads(
            name, _wants(rng)):
        yield places.Place(places.entering(name, _container(rng)),
                           places.accounting(name))


@contextlib.contextmanager
def limited(rng: random.Random) -> Iterator[places.Place]:
    """A container with a quota."""
    name, share = _name('quota'), rng.uniform(0.1, 0.9)
    with places.groups(name):
        places.quota(name, share, rng.choice([20_000, 50_000, 100_000]))
        places.weigh(name, rng.choice([_WEIGHT, _GUARANTEED]))
        with _beside(name, rng), places.loads(name, _wants(rng)):
            yield places.Place(places.entering(name, _container(rng)),
                               places.accounting(name), share)


@contextlib.contextmanager
def nested(rng: random.Random) -> Iterator[places.Place]:
    """A container without a limit in a group with one, beside a sibling."""
    outer = _name('nested')
    inner, sibling = f'{outer}/inner', f'{outer}/sibling'
    share = rng.uniform(0.2, 0.9)
    with places.groups(outer, inner, sibling):
        places.quota(outer, share, 100_000)
        places.weigh(outer, _GUARANTEED)
        with (_beside(outer, rng), places.loads(sibling, _wants(rng)),
              places.loads(inner, _wants(rng))):
            yield places.Place(places.entering(inner, _container(rng)),
                               places.accounting(inner), share)


@contextlib.contextmanager
def split(rng: random.Random) -> Iterator[places.Place]:
    """A group of cpu whose tasks are in another group of cpuacct."""
    name, share = _name('split'), rng.uniform(0.1, 0.9)
    top = f'{name}-accounts'
    with places.groups(name, top):
        places.quota(name, share, 100_000)
        with (places.loads(name, _wants(rng), ('cpu',)),
              places.loads(top, [1.0, 1.0], ('cpuacct',))):
            yield places.Place(
                places.entering(name, trees=('cpu',)),
                # The CPU time of the tasks is counted nowhere: the limit is
                # the truth.
                places.accounting(name), share)


@contextlib.contextmanager
def real_time(rng: random.Random) -> Iterator[places.Place]:
    """A group with a budget for real-time tasks."""
    share, period_us = rng.uniform(0.1, 0.4), 100_000
    with rt_stage.Stage(rt_stage.BUDGET).up() as stage:
        stage.reserve(share, period_us)
        with contextlib.ExitStack() as stack:
            if busy := rng.random() < 0.7:
                task = stack.enter_context(rt_stage.task(cpus=stage.cpus))
                stage.enter(task, share, period_us)
            yield places.Place(
                stage.inside, places.accounting(stage.name),
                share + 0.04 if busy else share)


@contextlib.contextmanager
def deadline(rng: random.Random) -> Iterator[places.Place]:
    """A SCHED_DEADLINE thread, which the probe is told of."""
    share, period_us = rng.uniform(0.1, 0.8), 100_000
    with (rt_stage.Stage(rt_stage.THREAD).up() as stage,
          rt_stage.task() as task):
        stage.enter(task, share, period_us)
        yield places.Place((), places.accounting(stage.name), 1.0,
                           ('--pid', str(task.pid)))


@contextlib.contextmanager
def podman(rng: random.Random, python: str = '/usr/bin/python3'
           ) -> Iterator[places.Place]:
    """A container of podman, with a limit or without one."""
    name = _name('podman')
    share = rng.choice([None, rng.uniform(0.1, 0.9)])
    options = [] if share is None else ['--cpus', f'{share:.3f}']
    with (_beside(name, rng), places.groups(name),
          places.podman(python, name, f'--cgroup-parent=/{name}', *options)
          as prefix):
        yield places.Place(
            (*prefix, *_loads(rng)),
            places.accounting(name), share, python=python)


def musl(rng: random.Random) -> contextlib.AbstractContextManager[
        places.Place]:
    """Runs as *podman* does, by a Python that was built with musl."""
    return podman(rng, os.environ['NOVA_RT_MUSL_PYTHON'])


CELLS: dict[str, Cell] = {
    'container without a limit': unlimited, 'quota': limited,
    'nested': nested, 'split hierarchies': split,
    'real-time group': real_time, 'SCHED_DEADLINE': deadline,
    'podman': podman}
if os.environ.get('NOVA_RT_MUSL_PYTHON'):
    CELLS['podman, musl'] = musl
