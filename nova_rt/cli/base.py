# SPDX-License-Identifier: Apache-2.0

"""The base of the console scripts: parser, common options, exit statuses.

Each subcommand registers itself together with the function that runs it.
"""

import argparse
from collections.abc import Callable, Iterable, Sequence
import importlib
import os
import sys
from typing import Any, NoReturn
import warnings

from nova_rt.cli import completion
from nova_rt.cli import missing
from nova_rt.rules import exception
from nova_rt import version

#: Not 2, the status of argparse: here, 2 reports what a command has found.
USAGE = 3
_FAILED = 1
_INTERRUPTED = 130

#: Registers a subcommand; its argument is what add_subparsers() returns.
Register = Callable[[Any], None]


class Parser(argparse.ArgumentParser):
    """A parser that ends with status 3 on wrong usage.

    argparse makes the parsers of subcommands from the same class.
    """

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f'{self.prog}: error: {message}\n')


def installed(name: str, module: str, register: str = 'register',
              extra: str = '') -> Register:
    """Returns a function that registers a subcommand of a module.

    If the module imports a package that is not installed, the subcommand is
    still listed.  The subcommand then says which extra has the package.

    :param register: the function of the module
    :param extra: the extra to install, if several extras have the package
    """
    def add(commands: Any) -> None:
        try:
            imported = importlib.import_module(module)
        except ModuleNotFoundError as error:
            _add_missing(commands, name, error, extra)
        else:
            getattr(imported, register)(commands)
    return add


def _add_missing(commands: Any, name: str, error: ModuleNotFoundError,
                 extra: str) -> None:
    """Adds a subcommand that only reports the missing package."""
    def run(args: argparse.Namespace) -> int:
        print(f'{parser.prog.partition(" ")[0]}: '
              f'{missing.sentence(error, extra)}', file=sys.stderr)
        return _FAILED

    # No argument begins with NUL: "--help" is taken like all others.
    parser = commands.add_parser(
        name, help=missing.short(error, extra), prefix_chars='\0',
        add_help=False)
    parser.add_argument('arguments', nargs='*')
    parser.set_defaults(run=run)


def no_rights(error: PermissionError) -> str:
    """Returns a sentence about rights that this process lacks."""
    rights = f'the rights for {error.filename}' if error.filename else 'rights'
    return (f'this process lacks {rights}: {error.strerror or error}; run the '
            f'command as root.')


def silence() -> None:
    """Hides the warnings that other packages address to developers.

    Nova and oslo.privsep import eventlet, which announces on standard error
    that it is deprecated.  ``python -W`` or PYTHONWARNINGS show all warnings.
    """
    if not sys.warnoptions:
        warnings.simplefilter('ignore')


def run(prog: str, description: str, commands: Iterable[Register],
        argv: Sequence[str] | None = None) -> int:
    """Parses *argv*, runs the subcommand, and returns its exit status.

    An error of this project, or a package that is not installed, is
    reported as one sentence on standard error with exit status 1.
    """
    silence()
    parser = Parser(prog=prog, description=description)
    version.add_option(parser)
    subparsers = parser.add_subparsers(required=True, metavar='COMMAND')
    for register in (*commands, completion.register):
        register(subparsers)
    args = parser.parse_args(argv)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # As in ``nova-rt doctor | head``.  Without this, Python would print
        # a second error when it flushes standard output at its end.
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
    except PermissionError as error:
        print(f'{prog}: {no_rights(error)}', file=sys.stderr)
        return _FAILED
    return status
