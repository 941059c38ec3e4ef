# SPDX-License-Identifier: Apache-2.0

"""Many live migrations in a row leave nothing behind."""

import os
import time

from tests.hosts import base

#: How many, from the environment; a few take a minute.
MOVES = int(os.environ.get('NOVA_RT_MOVES') or 6)


class ManyTestCase(base.HostsTestCase):

    def test_there_and_back(self):
        server = self.reserved(base.EAST)
        here, took = base.EAST, []
        for _ in range(MOVES):
            begun = time.monotonic()
            here = base.OTHER[here]
            self.move(server, here)
            took.append(time.monotonic() - begun)
            self.assertEqual(here, self.where(server))
        print(f'{MOVES} moves, {min(took):.1f} to {max(took):.1f} s each')
        self.assert_runs(server, here)
