# SPDX-License-Identifier: Apache-2.0

"""Tests what is refused leaves the rest right, and says why."""

import json
import subprocess
import sys

from tests.functional.kernel.monitor import base

_LOOK = '''
import contextlib, json
from rt_monitor import snapshot
with contextlib.closing(snapshot.Monitor()) as monitor:
    found = monitor.read()
print(json.dumps({source.name: source.reason for source in found.sources}))
'''


class RefusedTest(base.ProgramsTest):

    def without(self, *capabilities):
        """Returns why each source is off for root without these rights."""
        found = subprocess.run(
            ['setpriv', '--bounding-set', ','.join(
                f'-{name}' for name in capabilities),
             sys.executable, '-W', 'ignore', '-c', _LOOK], check=True,
            text=True, stdout=subprocess.PIPE)
        return json.loads(found.stdout)

    def test_no_networks(self):
        found = self.without('net_admin', 'sys_admin')
        self.assertEqual(('', ''), (found['sched'], found['tcp']))
        self.assertIn('CAP_NET_ADMIN', found['tap'])

    def test_no_programs(self):
        found = self.without('bpf', 'sys_admin')
        for name in ('sched', 'tcp', 'tap'):
            self.assertIn('CAP_BPF', found[name], name)
