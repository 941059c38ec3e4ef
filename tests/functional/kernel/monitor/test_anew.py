# SPDX-License-Identifier: Apache-2.0

"""Tests a server whose vCPUs come and go, as while a server is started."""

import os

from rt_monitor import servers
from tests.functional.kernel.monitor import base

BUSY = '''
import time
while True:
    time.sleep(0.001)
'''


class AnewTest(base.WatchedTest):

    def test_vcpus_that_are_found_later(self):
        self.python(BUSY)
        self.wait_for(lambda: self.usage().whole.waits.count > 100)
        before = self.monitor.read()
        path = self.inner('vcpu0')
        self.addCleanup(path.rmdir)
        [server] = self.servers
        self.monitor.watch([servers.Watched(base.UUID, {
            **server.groups, 0: os.stat(path).st_ino})])
        now = self.monitor.read()
        # The counts until then are gone; no count is less than zero.
        self.assertLess(now.usages[base.UUID].whole.waits.count,
                        before.usages[base.UUID].whole.waits.count)
        self.assertEqual(now.usages, now.since(before).usages)
        self.assertEqual({0}, {*now.usages[base.UUID].vcpus})
