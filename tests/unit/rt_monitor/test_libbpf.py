# SPDX-License-Identifier: Apache-2.0

"""rt_monitor.libbpf: what is said where the programs were not compiled."""

import tempfile
import unittest

from nova_rt.rules import exception
from rt_monitor import libbpf


class NotCompiledTest(unittest.TestCase):

    def test_says_what_is_missing_and_what_to_do(self):
        """The kernel is not blamed."""
        with (tempfile.TemporaryDirectory() as folder,
              self.assertRaises(exception.CannotMonitor) as caught):
            libbpf.Object(f'{folder}/sched.bpf.o')
        said = str(caught.exception)
        self.assertIn('sched', said)
        self.assertIn('built without its eBPF programs', said)
        self.assertIn('rt_monitor/programs/build.sh', said)
        self.assertNotIn('the kernel', said)
