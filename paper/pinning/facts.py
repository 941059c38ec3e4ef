# SPDX-License-Identifier: Apache-2.0

"""The numbers that pages show about pinned and reserved work, by name."""

from collections.abc import Iterator

from paper.pinning import records
from paper.pinning import table
from paper.pinning import ways
from paper.pinning import workloads

Named = Iterator[tuple[str, str]]


def named(data: records.Data) -> Named:
    """Yields the name and the text of each number."""
    for work in workloads.WORKLOADS:
        for way in ways.WAYS:
            for what, get in (('time', _wall_s), ('cpu', _cpu_s)):
                yield (f'pinning.{work}.{way}.{what}',
                       f'{table.ratio(data, work, way, get):.2f}')
            used = sorted(one.cpu_s / one.wall_s
                          for one in data.select(work, way))
            yield (f'pinning.{work}.{way}.cpus',
                   f'{used[0]:.2f} to {used[-1]:.2f}')
    yield 'pinning.load-most', (
        f'{max(one.load_average for one in data.records):.0f}')


def _wall_s(one: records.Record) -> float:
    return one.wall_s


def _cpu_s(one: records.Record) -> float:
    return one.cpu_s
