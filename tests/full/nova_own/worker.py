# SPDX-License-Identifier: Apache-2.0

"""Runs some of Nova's tests in this process.

Arguments: ``with`` or ``without`` the plugin, and names of modules, classes
or tests below ``nova.tests.functional``.  A line of JSON is written to the
standard output for each test: its name, its outcome, and the end of what it
told if it did not pass.
"""

import contextlib
import json
import os
import sys
import tempfile
import unittest

import testtools


class _Outcomes(testtools.TestResult):
    """The outcomes are printed as they come: passed, failed or skipped."""

    def __init__(self, stream):
        super().__init__()
        self._stream = stream

    def _note(self, test, outcome, err=None, details=None):
        text = ''
        if err is not None:
            text = self._err_details_to_string(test, err)
        elif details:
            text = '\n'.join(details[name].as_text() for name in details
                             if 'traceback' in name or name == 'reason')
        print(json.dumps([test.id(), outcome, text[-2000:]]),
              file=self._stream, flush=True)

    def addSuccess(self, test, details=None):
        self._note(test, 'passed')

    def addExpectedFailure(self, test, err=None, details=None):
        self._note(test, 'passed')

    def addUnexpectedSuccess(self, test, details=None):
        self._note(test, 'failed')

    def addFailure(self, test, err=None, details=None):
        self._note(test, 'failed', err, details)

    def addError(self, test, err=None, details=None):
        self._note(test, 'failed', err, details)

    def addSkip(self, test, reason=None, details=None):
        self._note(test, 'skipped', details=details)


def main(stream, variant, names):
    """Runs the tests, and writes what became of them to *stream*."""
    # Nova reads the environment when its tests are imported.
    os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'
    os.environ.setdefault('OS_TEST_TIMEOUT', '600')
    from nova import monkey_patch
    monkey_patch.patch(backend='threading')
    from tests.full.nova_own import configured
    with tempfile.TemporaryDirectory() as folder:
        configured.nova(folder, plugin=variant == 'with')
        unittest.defaultTestLoader.loadTestsFromNames(
            [f'nova.tests.functional.{name}' for name in names]).run(
                _Outcomes(stream))


if __name__ == '__main__':
    lines = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        main(lines, sys.argv[1], sys.argv[2:])
    # Threads that a test left behind must not delay the end of the command.
    os._exit(0)
