# SPDX-License-Identifier: Apache-2.0

import contextlib
import io
import unittest

import ddt

from paper import __main__ as main


@ddt.ddt
class MainTest(unittest.TestCase):

    @ddt.data(
        ['walk', '127.0.0.1', '7000', '--size', 'uniform:3'],
        ['walk', '127.0.0.1', '7000', '--service', 'exp:-1'],
        ['walk', '127.0.0.1', '7000', '--intervals', 'exp:inf'],
        ['walk', '127.0.0.1', '7000', '--clients', '0'],
        ['table3', '--server', 'fair'], ['table4'],
        ['fig6', '--seconds', '-1'], ['fig6', '--seconds', 'inf'],
        ['fig7', '--run-seconds', 'x'], ['table3', '--seeds', '0'],
        ['fig8', '--pair', 'papers'])
    def test_bad_arguments(self, arguments):
        with (contextlib.redirect_stderr(io.StringIO()) as said,
              self.assertRaises(SystemExit) as ended):
            main.main(arguments)
        self.assertEqual(2, ended.exception.code)
        self.assertRegex(said.getvalue(), arguments[-1])

    def test_no_server(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            status = main.main(['walk', '127.0.0.1', '1', '--requests', '1'])
        self.assertEqual(1, status)
        self.assertRegex(said.getvalue(), '^walk: No reply to any of 1 ')
