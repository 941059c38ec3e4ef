# SPDX-License-Identifier: Apache-2.0

"""Runs the openstack client with command lines as a person types them.

Importing the client takes longer than its requests.  So this module imports
the client once, and runs each command in a separate fork.
"""

import dataclasses
import gc
import io
import logging
import os
import shlex
import sys
import traceback

from cloud import main
from cloud import settings
from openstackclient import shell

#: Each command says this about a plugin of another client.
BROKEN = "Could not load '"


@dataclasses.dataclass(frozen=True)
class Answer:
    """The output of a command, and its exit status."""

    text: str
    status: int


def environment() -> None:
    """Sets the variables that ``tools/cloud.sh env`` gives a shell."""
    os.environ.update(main.environment(settings.load()))


def warm_up() -> None:
    """Loads the plugins of the client with a command that changes nothing."""
    kept = sys.stdout
    sys.stdout = io.StringIO()
    try:
        shell.main(['server', 'list', '--all-projects'])
    finally:
        sys.stdout = kept
    # The forks do not look for garbage in what they share.
    gc.collect()
    gc.freeze()


def run(command: str) -> Answer:
    """Runs one command line, given without the leading word ``openstack``."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        os._exit(_in_child(shlex.split(command)))
    os.close(writing)
    with open(reading, encoding='utf-8', errors='replace') as output:
        text = output.read()
    _, status = os.waitpid(pid, 0)
    text = '\n'.join(line for line in text.splitlines()
                     if not line.startswith(BROKEN))
    return Answer(text.rstrip(), os.waitstatus_to_exitcode(status))


def _in_child(arguments: list[str]) -> int:
    # The warm-up left these handlers; messages would be printed twice.
    logging.getLogger().handlers.clear()
    try:
        status = shell.main(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return int(status or 0)
