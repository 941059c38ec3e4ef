# SPDX-License-Identifier: Apache-2.0

"""nova-rt-manage, many times: importing Nova takes longer than its work.

So this process imports it once, and each run is a fork of it: the same
program with the same arguments, in a process and with a state of its own.
"""

from collections.abc import Mapping
import os
import sys
import tempfile
import traceback

from rt_operate.commands import manage as command


def manage(environment: Mapping[str, str], *arguments: str) -> tuple[int, str]:
    """The exit status and what was said, on either of the outputs."""
    with tempfile.TemporaryFile('w+', encoding='utf-8') as said:
        child = os.fork()
        if not child:
            _become(environment, arguments, said.fileno())
        _, status = os.waitpid(child, 0)
        said.seek(0)
        return os.waitstatus_to_exitcode(status), said.read()


def _become(environment: Mapping[str, str], arguments: tuple[str, ...],
            said: int) -> None:
    """Does not return, whatever happens: there must not be two test runs."""
    status = 255
    try:
        # Those of the test run may hold what it has not written yet.
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
