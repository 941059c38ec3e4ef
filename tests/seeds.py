# SPDX-License-Identifier: Apache-2.0

"""The seeds of random tests: the same in each run, unless told.

NOVA_RT_SEED is a single seed, NOVA_RT_SEQUENCES a number of new ones.
Tests that take a sample of something large take another one each day:
NOVA_RT_DAY, as in 2026-01-31, repeats that of a day.
"""

from collections.abc import Callable
from collections.abc import Iterable
import datetime
import os
import random
import unittest

Load = Callable[[unittest.TestLoader, unittest.TestSuite, str | None],
                unittest.TestSuite]


def seeds(count: int) -> list[int]:
    """Returns *count* seeds, or the seeds that the environment asks for."""
    one, new = (os.environ.get(name) for name in ('NOVA_RT_SEED',
                                                  'NOVA_RT_SEQUENCES'))
    if one:
        return [int(one)]
    if new:
        return random.SystemRandom().sample(range(1 << 32), int(new))
    return list(range(count))


def seeds_of_the_day(name: str, count: int) -> list[int]:
    """Returns the seed of a test that has only one."""
    if {'NOVA_RT_SEED', 'NOVA_RT_SEQUENCES'} & os.environ.keys():
        return seeds(count)
    return sample(name).sample(range(1 << 32), count)


def seed() -> int:
    """Returns the seed of a test that has only one."""
    return seeds(1)[0]


def day() -> str:
    """NOVA_RT_DAY, or today (UTC)."""
    return os.environ.get('NOVA_RT_DAY') or str(
        datetime.datetime.now(datetime.UTC).date())


def seed_of_the_day() -> int:
    """The one seed of a test that samples: another one each day.

    :raises ValueError: the day is not as in 2026-01-31
    """
    if {'NOVA_RT_SEED', 'NOVA_RT_SEQUENCES'} & os.environ.keys():
        return seed()
    return datetime.date.fromisoformat(day()).toordinal()


def sample(name: str) -> random.Random:
    """Returns a generator for the points of *name*, constant for a day."""
    return random.Random(f'{day()} {name}')  # noqa: S311


def tests_of_the_day(name: str, suite: Iterable[unittest.TestSuite],
                     count: int, whole: str) -> unittest.TestSuite:
    """Chooses tests of a module, other ones each day, for ``load_tests``.

    :param name: the name of the module
    :param suite: a suite for each class of the module
    :param whole: a variable of the environment that asks for all tests
    """
    tests = [test for case in suite for test in case]
    if os.environ.get(whole):
        return unittest.TestSuite(tests)
    return unittest.TestSuite(sample(name).sample(tests, count))


def load_of_the_day(name: str, count: int, whole: str) -> Load:
    """Returns ``load_tests`` of a module whose tests are sampled.

    :param name: the name of the module
    :param count: how many of the tests run each day
    :param whole: a variable of the environment that asks for all tests
    """
    def load_tests(loader: unittest.TestLoader, standard: unittest.TestSuite,
                   pattern: str | None) -> unittest.TestSuite:
        return tests_of_the_day(name, standard, count, whole)

    return load_tests
