# SPDX-License-Identifier: Apache-2.0

"""tools/failures.py: what is said of a failed test."""

import io
import pathlib
import subprocess
import sys
import unittest

from subunit import v2

_ROOT = pathlib.Path(__file__).parents[2]
_LOG = '''\
2026-11-23 09:00:00,000 INFO [nova.compute.claims] Claim successful
2026-11-23 09:00:01,000 ERROR [nova.compute.manager] Build failed: why
Traceback (most recent call last):
2026-11-23 09:00:02,000 WARNING [nova.scheduler] %s
'''


class FailuresTest(unittest.TestCase):

    def said(self, **cases):
        """:param cases: the statuses, by name"""
        out = io.BytesIO()
        stream = v2.StreamResultToBytes(out)
        for name, status in cases.items():
            for detail, text in (('pythonlogging', _LOG % ('x' * 999)),
                                 ('traceback', 'AssertionError: 2 != 1')):
                stream.status(test_id=name, file_name=detail, eof=True,
                              file_bytes=text.encode(),
                              mime_type='text/plain; charset=utf8')
            stream.status(test_id=name, test_status=status)
        return subprocess.run(
            [sys.executable, _ROOT / 'tools' / 'failures.py'], check=True,
            input=out.getvalue(), capture_output=True).stdout.decode()

    def test_what_failed_and_what_it_warned_of(self):
        first, trace, error, warning, last = self.said(
            good='success', bad='fail', away='skip').splitlines()
        self.assertEqual(('FAIL: bad', 'AssertionError: 2 != 1',
                          'FAILED: bad'), (first, trace, last))
        self.assertTrue(error.endswith('Build failed: why'), error)
        self.assertIn('WARNING [nova.scheduler] xxx', warning)
        self.assertLess(len(warning), 250)
