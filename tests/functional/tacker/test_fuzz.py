# SPDX-License-Identifier: Apache-2.0

"""Hostile descriptors and archives through the commands, counted and bounded.

A worker process runs mutants one by one, each in a folder of its own.  It
tells of tracebacks, of files that were read or written elsewhere, of
connections and processes, of texts and reservations that came out as others,
and the most seconds and memory that one took.  TACKER_RT_FUZZ is how many (a
campaign has 50000), TACKER_RT_FUZZ_SEED where to begin; both are printed.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

_WORKER = pathlib.Path(__file__).parent / 'layers' / 'fuzz.py'
_COUNT = int(os.environ.get('TACKER_RT_FUZZ', '300'))
_SEED = int(os.environ.get('TACKER_RT_FUZZ_SEED',
                           random.SystemRandom().randrange(10 ** 6)))
_SECONDS, _MEGABYTES = 10, 200


class FuzzTest(unittest.TestCase):

    def test_campaign(self):
        print(f'TACKER_RT_FUZZ={_COUNT} TACKER_RT_FUZZ_SEED={_SEED}')
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, _WORKER, str(_SEED), str(_COUNT)],
                cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stderr[-3000:])
        told = json.loads(done.stdout)
        print(told['counts'], f'at most {told["seconds"]:.2f} s and '
              f'{told["megabytes"]:.0f} MB')
        self.assertEqual([], told['findings'], f'seed {_SEED}')
        self.assertEqual(_COUNT, sum(told['counts'].values()))
        self.assertLess(told['seconds'], _SECONDS)
        self.assertLess(told['megabytes'], _MEGABYTES)
