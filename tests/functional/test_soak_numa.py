# SPDX-License-Identifier: Apache-2.0

"""Random operations on servers with and without NUMA cells of their own.

After each operation the checks of ``test_soak`` hold, and each claim is in the
cells that Nova has for the server.  No request is refused that fits somewhere
in the view of its scheduler: an exact search says so.  NOVA_RT_SOAK_NUMA is
how many sequences there are.
"""

import collections
import os
import random

from tests.functional import test_soak
from tests import seeds

SEQUENCES = int(os.environ.get('NOVA_RT_SOAK_NUMA', '1'))


class TwoCellsTest(test_soak.SoakTest):
    """Virtual machines on hosts where each cell has two pCPUs."""

    VIRT_TYPE = 'qemu'
    KERNELS = ('F2m',)
    CELLS = 2
    HOSTS = 4
    COUNT = 60

    def setUp(self) -> None:
        super().setUp()
        self.config(None, cpu_allocation_ratio=64.0)
        self.config(
            available_filters=['nova.scheduler.filters.all_filters',
                               'nova_rt.scheduler.filters.RTShareFilter'],
            enabled_filters=['NUMATopologyFilter', 'RTShareFilter'],
            group='filter_scheduler')

    def test_soak(self) -> None:
        rng = random.Random(seeds.of_the_day())  # noqa: S311
        attempts = collections.Counter[int]()
        for _ in range(SEQUENCES):
            attempts.update(self.soak(rng.getrandbits(32)).cloud.attempts)
        # What a claim refused, at every host, because views were old.
        self.assertLessEqual(attempts[0], max(1, attempts.total() // 100))
        self.say(f'{SEQUENCES} sequences with {self.CELLS} cells: '
                 f'{attempts.total()} builds, {attempts[0]} refused')


class FourCellsTest(TwoCellsTest):
    """Where each cell has one pCPU."""

    CELLS = 4
