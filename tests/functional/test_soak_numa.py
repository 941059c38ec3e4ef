# SPDX-License-Identifier: Apache-2.0

"""Random operations on servers with and without NUMA cells of their own.

After each operation the checks of ``test_soak`` hold, and each claim is in the
cells that Nova has for the server.  No request is refused that fits somewhere
in the view of its scheduler: an exact search says so.  NOVA_RT_SOAK_NUMA is
how many sequences there are.
"""

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
    HOSTS = 8
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
        rng = random.Random(seeds.seed_of_the_day())  # noqa: S311
        builds = refused = fitting = 0
        for _ in range(SEQUENCES):
            cloud = self.soak(rng.getrandbits(32)).cloud
            builds += sum(cloud.attempts.values())
            refused += len(cloud.lost)
            fitting += cloud.fitting
        self.say(f'{SEQUENCES} sequences with {self.CELLS} cells: {builds} '
                 f'builds, {refused} refused by claims because views of '
                 f'schedulers were old, {fitting} of them would have fitted')
        self.assertLessEqual(fitting, max(1, builds // 100))


class FourCellsTest(TwoCellsTest):
    """Tests where each cell has one pCPU."""

    CELLS = 4
