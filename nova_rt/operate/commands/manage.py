# SPDX-License-Identifier: Apache-2.0

"""``nova-rt-manage``: compare, repair Placement, change hints."""

import argparse
from collections.abc import Sequence
import sys
import traceback

from nova_rt.cli import base
from nova_rt.operate.manage import command
from nova_rt.operate.manage import errors
from nova_rt.operate.manage import start
from nova_rt.rules import reservation

PROG = 'nova-rt-manage'


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        start.configure(PROG, args.config_file, args.config_dir, args.debug)
        return command.COMMANDS[args.command](args)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        # Whatever it is: an operator is told, and may ask for more.
        if args.debug:
            traceback.print_exc()
        print(f'{PROG}: {errors.sentence(error)}', file=sys.stderr)
        return command.UNCHECKED


def _parser() -> argparse.ArgumentParser:
    parser = base.Parser(
        prog=PROG, description='Compares the CPU reservations that servers '
        'claim with Placement and with the kernel.')
    start.add_arguments(parser)
    parser.add_argument('--debug', action='store_true',
                        help='show the log, and tracebacks')
    commands = parser.add_subparsers(dest='command', required=True,
                                     metavar='COMMAND')
    _add_check(commands.add_parser(
        'check', help='show what differs; changes nothing',
        description='Compares what servers claim of each compute host with '
        'the allocations and inventories of Placement, with the map that the '
        'host publishes and, on the host itself, with the budgets that the '
        'kernel holds.  Says for each difference what there is, what there '
        'should be and what to do.  Looks twice, so that what Nova changes '
        'meanwhile is no difference.',
        epilog='Exit status: 0 nothing differs, 1 something does, 2 '
        'not everything could be checked, 3 wrong usage.'))
    _add_heal(commands.add_parser(
        'heal', help='repair allocations in Placement',
        description='Makes the allocations of servers in Placement what '
        'their claims are, and removes those of consumers that are gone.  '
        'Shows what it would do, unless --apply is given.',
        epilog='Exit status: 0 nothing is left to heal, 1 something is, 2 '
        'not everything could be checked, 3 wrong usage.'))
    _add_hint(commands.add_parser(
        'hint', help='show or change the hints of a server',
        description='Shows the hints about its reservation that a server '
        'was created with, or gives it others, which count from the next '
        'resize, migration or unshelve on.',
        epilog='Exit status: 0 shown or changed, 2 not, 3 wrong usage.'))
    return parser


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--host', help='only this compute host')
    parser.add_argument(
        '--kernel', action='store_true', help='it is an error if the kernel '
        'cannot be looked at (default: it is looked at where the host is '
        'this machine and this process may read it)')
    base.add_format(parser)


def _add_heal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--host', help='only this compute host')
    parser.add_argument(
        '--instance', metavar='UUID', help='only this server, or another '
        'consumer of Placement')
    parser.add_argument('--apply', action='store_true', help='do it')
    base.add_format(parser)


def _add_hint(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('server', metavar='UUID')
    what = parser.add_mutually_exclusive_group()
    what.add_argument('--clear', action='store_true',
                      help='take all hints about reservations from it')
    what.add_argument(
        '--set', metavar='KEY=VALUE', action='append', type=_pair,
        help='give it these in their place; may be repeated')
    base.add_format(parser)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition('=')
    if not equals or not key.startswith(reservation.HINT_PREFIX):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not of the form cpu.rt_runtime_us=100000')
    return key, value
