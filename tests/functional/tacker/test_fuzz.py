# SPDX-License-Identifier: Apache-2.0

"""Runs hostile descriptors and archives through the commands.

A worker process runs mutants one by one, each in a folder of its own.  The
worker reports tracebacks, files that were read or written elsewhere,
connections and processes, texts and reservations that came out changed, and
the most seconds and memory of one mutant.  TACKER_RT_FUZZ is the number of
mutants (a campaign has 50000), and TACKER_RT_FUZZ_SEED the first seed; both
are printed.
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
