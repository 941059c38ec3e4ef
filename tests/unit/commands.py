# SPDX-License-Identifier: Apache-2.0

"""The common part of the tests of console scripts."""

import contextlib
import io

from oslotest import base


class CommandTest(base.BaseTestCase):
    """Runs a script in this process.

    :cvar main: its function, a staticmethod
    """

    def run_main(self, *argv):
        """(status, standard output, standard error)"""
        out, err = io.StringIO(), io.StringIO()
        with (contextlib.redirect_stdout(out),
              contextlib.redirect_stderr(err)):
            try:
                status = self.main(argv)
            except SystemExit as error:
                status = error.code
        return status, out.getvalue(), err.getvalue()
