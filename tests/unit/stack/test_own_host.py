# SPDX-License-Identifier: Apache-2.0

"""Tests what the container of tests/stack is taken for."""

import pathlib
import subprocess
import sys
import unittest

_ROOT = pathlib.Path(__file__).parents[3]
_PROGRAM = """
import importlib, sys
sys.path.insert(0, 'tests/stack')
import own_host
module = importlib.import_module(own_host.MODULE)
# A host without a file at all.
print(repr(module.trouble(None)), module.verify(None))
"""


class OwnHostTest(unittest.TestCase):

    def test_the_module_says_that_it_sees_the_host(self):
        done = subprocess.run([sys.executable, '-c', _PROGRAM], cwd=_ROOT,
                              capture_output=True, text=True)
        self.assertEqual(("'' None\n", ''), (done.stdout, done.stderr))
