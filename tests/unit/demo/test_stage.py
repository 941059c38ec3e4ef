# SPDX-License-Identifier: Apache-2.0

"""demo.stage: a full host is full for one step only."""

import json
import unittest
from unittest import mock

from demo import acts
from demo import host
from demo import report
from demo import stage
from nova_rt.rules import hostmap


class FilledTest(unittest.TestCase):
    """Servers that fill the host are deleted before Nova starts again."""

    def filled(self, replicated: bool, used: list[int]) -> list[str]:
        """The commands that were typed, in their order."""
        typed = []
        demo = stage.Demo(acts.Act('qemu', 'sched_deadline'),
                          report.Report(0.01))
        demo.create = lambda name, extra: typed.append(f'create {name}')
        demo.delete = lambda *names: typed.append(f'delete {" ".join(names)}')
        demo.built = lambda: typed.append('built')
        stats = [{hostmap.MAP: json.dumps(
            {'replicated': replicated, 'used': used})}]
        with mock.patch.object(host, 'published', lambda cloud: stats), \
                demo.filled():
            typed.append('look')
        return typed

    def test_one_server_for_each_pcpu_that_is_free(self):
        self.assertEqual(
            ['create filler0', 'create filler1', 'built', 'look',
             'delete filler0 filler1'], self.filled(False, [900_000, 0, 0]))

    def test_one_pool_is_full_as_it_is(self):
        self.assertEqual(['look'], self.filled(True, [900_000, 0]))
