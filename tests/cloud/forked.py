# SPDX-License-Identifier: Apache-2.0

"""Runs nova-rt-manage many times without importing Nova each time.

Importing Nova takes longer than the work of the command.  So this process
imports Nova once, and each run is a fork of this process: the same program
with the same arguments, in a process and with a state of its own.
"""

from collections.abc import Mapping
import os
import sys
import tempfile
import traceback

from rt_operate.commands import manage as command


def manage(environment: Mapping[str, str], *arguments: str) -> tuple[int, str]:
    """Returns the exit status and the text of both outputs."""
    with tempfile.TemporaryFile('w+', encoding='utf-8') as said:
        child = os.fork()
        if not child:
            _become(environment, arguments, said.fileno())
        _, status = os.waitpid(child, 0)
        said.seek(0)
        return os.waitstatus_to_exitcode(status), said.read()


def _become(environment: Mapping[str, str], arguments: tuple[str, ...],
            said: int) -> None:
    """Never returns, whatever happens: there must not be two test runs."""
    status = 255
    try:
        # The buffers of the test run may have text that is not written yet.
        for output in (1, 2):
            os.dup2(said, output)
        sys.stdout = sys.stderr = open(said, 'w', closefd=False)
        os.environ.clear()
        os.environ.update(environment)
        status = command.main(arguments)
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)
