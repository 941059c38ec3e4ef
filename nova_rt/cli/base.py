# SPDX-License-Identifier: Apache-2.0

"""What console scripts share.

Each subcommand registers itself, with the function that runs it.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
import os
import sys
from typing import Any, NoReturn
import warnings

from nova_rt.cli import missing
from nova_rt.rules import exception

#: Not 2, which argparse takes: that says what a command has found.
USAGE = 3
_FAILED = 1
_INTERRUPTED = 130

#: Is given what add_subparsers() returns.
Register = Callable[[Any], None]


class Parser(argparse.ArgumentParser):
    """Its subcommands are parsed by others of this class."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f'{self.prog}: error: {message}\n')


def add_format(parser: argparse.ArgumentParser) -> None:
    """``-f json``; ``--json`` is what it was called where it is older."""
    parser.add_argument('-f', '--format', choices=('text', 'json'),
                        default='text', help='(default: %(default)s)')
    parser.add_argument('--json', dest='format', action='store_const',
                        const='json', help='the same as -f json')


def silence() -> None:
    """Leaves out what other packages say to their developers.

    Eventlet, which Nova and oslo.privsep import, announces its end on
    standard error.  With ``python -W`` or PYTHONWARNINGS it is all shown.
    """
    if not sys.warnoptions:
        warnings.simplefilter('ignore')


def run(prog: str, description: str, commands: Iterable[Register],
        argv: Sequence[str] | None = None) -> int:
    """Parse *argv*, run the subcommand in it, return its exit status.

    Our own errors, and a package that is not installed, are one sentence on
    standard error and status 1.
    """
    silence()
    parser = Parser(prog=prog, description=description)
    subparsers = parser.add_subparsers(required=True, metavar='COMMAND')
    for register in commands:
        register(subparsers)
    args = parser.parse_args(argv)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # ``nova-rt doctor | head``; Python would complain at its end, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED
    except exception.RTError as error:
        print(f'{prog}: {error}', file=sys.stderr)
        return _FAILED
    except ModuleNotFoundError as error:
        print(f'{prog}: {missing.sentence(error)}', file=sys.stderr)
        return _FAILED
    return status
