# SPDX-License-Identifier: Apache-2.0

"""Tests what is refused leaves the rest right, and says why."""

import contextlib
import json
import subprocess
import sys

from rt_monitor import snapshot
from tests.functional.kernel.monitor import base

_LOOK = '''
import contextlib, json
from rt_monitor import snapshot
with contextlib.closing(snapshot.Monitor()) as monitor:
    found = monitor.read()
print(json.dumps({source.name: source.reason for source in found.sources}))
'''


class RefusedTest(base.ProgramsTest):

    def test_a_kernel_without_tcx(self):
        if not base.why_not('tap'):
            self.skipTest('the kernel has tcx')
        with contextlib.closing(snapshot.Monitor(with_http=True)) as monitor:
            found = {source.name: source.reason for source in monitor.sources}
        for name in ('tap', 'http'):
            self.assertIn('Linux 6.6', found[name], name)

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
        for name in ('sched', 'tcp'):
            if not base.why_not(name):
                self.assertEqual('', found[name], name)
        self.assertIn('CAP_NET_ADMIN', found['tap'])

    def test_no_programs(self):
        found = self.without('bpf', 'sys_admin')
        for name in ('sched', 'tcp', 'tap'):
            self.assertIn('CAP_BPF', found[name], name)
