# SPDX-License-Identifier: Apache-2.0

"""lab.main: bad input is one sentence."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import ddt

from lab import main


@ddt.ddt
class BadInputTest(unittest.TestCase):

    @ddt.data((['debian:11'], 'debian:11 is not one'),
              (['/none'], '/none is not a kernel'),
              (['x', 'speed'], 'speed is not a test'),
              (['x', '--cpus', '0'], '--cpus 0 is not between'),
              (['x', '--memory', '1'], '--memory 1 is too little'),
              (['x', '--cells', '0'], '--cells 0 does not divide 2 CPUs'),
              (['x', '--cells', '2', '--cpus', '3'], '--cells 2 does not'),
              (['x', '--pages', '-1'], '--pages -1 in each of 1 cells'),
              (['x', '--pages', '800'], '--pages 800 in each of 1 cells'),
              (['all', 'unit'], 'all has tests of its own: leave out unit'),
              (['x', '--timeout', '-1'], '--timeout -1 is not a time'))
    @ddt.unpack
    def test_one_sentence(self, words, sentence):
        with tempfile.TemporaryDirectory() as scratch, \
                contextlib.redirect_stderr(io.StringIO()) as stderr:
            status = main.main(['--cache', scratch, *words])
            self.assertEqual([], list(pathlib.Path(scratch).iterdir()))
        self.assertEqual(2, status)
        self.assertTrue(stderr.getvalue().startswith(f'lab.sh: {sentence}'),
                        stderr.getvalue())
        self.assertEqual(1, stderr.getvalue().count('\n'))
