# SPDX-License-Identifier: Apache-2.0

"""Tests ``nova-rt conformance`` on this machine, in groups of its own.

The results of its cases are not tested here: the cases are for spare hosts,
and take most of each pCPU.
"""

import json
import pathlib
import subprocess
import sys

from rt_operate.conformance import stage
from tests.functional.kernel import base

_COMMAND = ('import sys; from rt_operate.commands import main; '
            'sys.exit(main.main(sys.argv[1:]))')


class ConformanceTest(base.RealKernelTest):

    def conformance(self, *words: str) -> dict[str, str]:
        """A short case, in which any load of the host may change a share."""
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', _COMMAND, 'conformance',
             '--this-host-may-crash', '--case', 'release',
             '--tolerance', '0.9', '-f', 'json', *words],
            capture_output=True, text=True)
        self.assertEqual('', done.stderr)
        # The kernel may log anything meanwhile.
        return {each['case']: each['level'] for each
                in json.loads(done.stdout)['cases']}

    def test_a_case(self) -> None:
        self.assertEqual('kept', self.conformance()['release'])
        self.assertFalse(pathlib.Path(self.cpu, stage.TOP).exists())

    def test_threads_in_place_of_groups(self) -> None:
        if self.interface.deadline_servers:
            self.skipTest('the root group has the bandwidth that the case '
                          'needs for SCHED_DEADLINE threads')
        self.assertEqual('kept',
                         self.conformance('--sched-deadline')['release'])
        mount = pathlib.Path(self.cpu).parent / 'cpuset'
        self.assertTrue(mount.exists())
        self.assertFalse((mount / stage.TOP).exists())
