# SPDX-License-Identifier: Apache-2.0

"""``nova-rt conformance`` on this machine: it may write its own groups.

What its cases find is not tested here: that is for spare hosts, and takes
most of each pCPU.
"""

import json
import pathlib
import subprocess
import sys

from nova_rt.conformance import stage
from tests.functional.kernel import base

_COMMAND = ('import sys; from nova_rt.cmd import main; '
            'sys.exit(main.main(sys.argv[1:]))')


class ConformanceTest(base.RealKernelTest):

    def test_a_case(self) -> None:
        """A short one; a share may be off by any load of the host."""
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-c', _COMMAND, 'conformance',
             '--this-host-may-crash', '--case', 'release',
             '--tolerance', '0.9', '-f', 'json'],
            capture_output=True, text=True)
        self.assertEqual('', done.stderr)
        # What the kernel logs meanwhile may be about anything.
        found = {each['case']: each['level'] for each
                 in json.loads(done.stdout)['cases']}
        self.assertEqual('kept', found['release'], done.stdout)
        self.assertFalse(pathlib.Path(self.cpu, stage.TOP).exists())
