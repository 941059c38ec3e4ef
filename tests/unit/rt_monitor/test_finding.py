# SPDX-License-Identifier: Apache-2.0

"""rt_monitor.finding: what its process writes, and when."""

import os
import pwd
import unittest
from unittest import mock

from rt_monitor import finding
from rt_monitor import groups
from rt_monitor import servers

ONE = servers.Watched('u1', {servers.WHOLE: 7, 0: 8}, 1, 'web', taps=(3,),
                      reservation=servers.Granted(20_000, 100_000))


class FindingTest(unittest.TestCase):

    def told(self, *looks):
        """Returns what the process writes for these searches until it ends."""
        with (mock.patch.object(groups.Finder, 'find', side_effect=looks),
              mock.patch.object(finding, 'INTERVAL_S', 0.001)):
            reader = finding.start(
                lambda found: None, pwd.getpwuid(os.geteuid()))
        with os.fdopen(reader) as pipe:
            found = [finding.decode(line) for line in pipe]
        os.wait()
        return found

    def test_tells_what_is_different(self):
        self.assertEqual([[ONE], [], [ONE]],
                         self.told([ONE], [ONE], [], [], [ONE]))

    def test_says_why_it_ends(self):
        """os._exit would swallow the error."""
        reader, writer = os.pipe()
        stderr = os.dup(2)
        os.dup2(writer, 2)
        try:
            self.told(PermissionError(13, 'Permission denied', '/x'))
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            os.close(writer)
        with os.fdopen(reader) as pipe:
            self.assertEqual('nova-rt-monitor: cannot find the servers any '
                             "more: [Errno 13] Permission denied: '/x'\n",
                             pipe.read())

    def test_tells_that_there_is_none(self):
        self.assertEqual([[]], self.told([], []))
