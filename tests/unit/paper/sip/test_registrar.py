# SPDX-License-Identifier: Apache-2.0

import os
import time
import unittest

from paper.sip import registrar


class BusyTest(unittest.TestCase):

    def test_grows_with_what_a_process_does(self):
        us = [registrar.busy_us([os.getpid()])]
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
        us.append(registrar.busy_us([os.getpid()]))
        self.assertGreater(us[1], us[0])

    def test_nobody(self):
        self.assertEqual(0, registrar.busy_us([]))
