# SPDX-License-Identifier: Apache-2.0

"""Puts numbers and nouns together for messages: ``1 host``, ``pCPUs 0-3``."""

from collections.abc import Sequence

from nova_rt.rules import cpulist


def count(number: int, one: str, many: str = '') -> str:
    """Returns a number with its noun: ``1 group``, ``2 groups``."""
    return f'{number} {noun(number, one, many)}'


def noun(number: int, one: str, many: str = '') -> str:
    """Returns the form of a noun for a number of things."""
    return one if number == 1 else many or f'{one}s'


def each(number: int, one: str) -> str:
    """Returns the things that each have something: ``each of 2 vCPUs``."""
    return f'{"each of " * (number > 1)}{count(number, one)}'


def ids(numbers: Sequence[int], one: str = 'pCPU') -> str:
    """Returns numbers after their noun: ``pCPU 1``, ``pCPUs 0-3,8``.

    The numbers stay in their order: ``pCPUs 3,1``.
    """
    return f'{noun(len(numbers), one)} {cpulist.format_ids(numbers)}'
