# SPDX-License-Identifier: Apache-2.0

"""``nova-rt-manage``: compares and repairs, changes reservations."""

import argparse
from collections.abc import Sequence
import sys
import traceback

from nova_rt.cli import base
from nova_rt.cli import completion
from nova_rt.cli import formats
from nova_rt.rules.packing import planner
from nova_rt.rules import reservation
from nova_rt import version
from rt_operate.manage import command
from rt_operate.manage import errors
from rt_operate.manage import start

PROG = 'nova-rt-manage'
_PERIOD_US = 100_000


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``nova-rt-manage`` and returns its exit status."""
    args = _parser().parse_args(argv)
    if args.command == 'complete':
        return int(args.run(args))
    try:
        start.configure(PROG, args.config_file, args.config_dir, args.debug)
        return command.COMMANDS[args.command](args)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        # An operator gets one sentence for any error, and the traceback
        # on request.
        if args.debug:
            traceback.print_exc()
        print(f'{PROG}: {errors.sentence(error)}', file=sys.stderr)
        return command.UNCHECKED


def _parser() -> argparse.ArgumentParser:
    parser = base.Parser(
        prog=PROG, description='Compares the CPU reservations that servers '
        'claim with Placement and with the kernel.')
    version.add_option(parser)
    start.add_arguments(parser)
    parser.add_argument('--debug', action='store_true',
                        help='show the log, and tracebacks')
    commands = parser.add_subparsers(dest='command', required=True,
                                     metavar='COMMAND')
    _add_check(commands.add_parser(
        'check', help='show the differences; changes nothing',
        description='Compares what servers claim on each compute host with '
        'the allocations and inventories in Placement, with the map that the '
        'host publishes and, on the host itself, with the budgets in the '
        'kernel.  Also names the notes that a killed nova-api has left in '
        'the quotas.  Prints for each difference the current value, the '
        'expected value and the remedy.  Reads everything twice, so that a '
        'change that Nova makes meanwhile is not reported as a difference.',
        epilog='Exit status: 0 nothing differs, 1 something differs, 2 '
        'not everything could be checked, 3 wrong usage.'))
    _add_heal(commands.add_parser(
        'heal', help='repair allocations in Placement',
        description='Makes the allocations of servers in Placement equal to '
        'their claims, and removes the allocations of consumers that no '
        'longer exist, and the notes of quotas that a killed nova-api has '
        'left.  Without --apply, the command only prints what it '
        'would change.',
        epilog='Exit status: 0 nothing is left to heal, 1 something is left '
        'to heal, 2 not everything could be checked, 3 wrong usage.'))
    _add_hint(commands.add_parser(
        'hint', help='show or change the hints of a server',
        description='Shows the reservation hints that a server was created '
        'with, or replaces these hints.  New hints take effect at the next '
        'resize, migration or unshelve.',
        epilog='Exit status: 0 the hints were shown or changed, 2 the hints '
        'could not be shown or changed, 3 wrong usage.'))
    _add_reserve(commands.add_parser(
        'reserve', help='change the reservation of a server that runs',
        description='Gives a server another reservation on its host without '
        'a restart.  At all times, the server has at least the smaller of '
        'the two reservations.  nova-compute changes the claim, the '
        'allocation in Placement and the kernel together, or refuses and '
        'changes nothing.  The new values become the hints of the server.',
        epilog='Exit status: 0 the reservation was changed, 2 the '
        'reservation was not changed, 3 wrong usage.'))
    _add_defrag(commands.add_parser(
        'defrag', help='move vCPUs to other pCPUs to make room on a host',
        description='Plans the fewest moves of vCPUs between the pCPUs of a '
        'host after which a server with the given share fits, and prints '
        'these moves.  With --apply, the nova-compute of the host makes '
        'the moves, one after another, while the servers run.  A server has '
        'its reservation all the time, and its vCPUs stay in their NUMA '
        'cells.  '
        'On hosts of up to 16 pCPUs, no shorter plan exists.  On larger '
        'hosts, a shorter plan may exist, and the command prints how many '
        'moves every plan needs at least.',
        epilog='Exit status: 0 the share fits now, 1 the share fits after '
        'the moves that were printed, 2 the share does not fit or a move was '
        'refused, 3 wrong usage.'))
    completion.register(commands)
    return parser


def _add_defrag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('host', metavar='HOST', help='the compute host')
    parser.add_argument(
        '--for-share', metavar='SHARE', type=_share, help='the share of a '
        'pCPU for each vCPU, for example 0.4 (default: the largest share '
        'that moves can make room for, in steps of 0.01)')
    parser.add_argument(
        '--vcpus', metavar='N', type=_count, default=1,
        help='the number of vCPUs, each on a pCPU of its own (default: 1)')
    parser.add_argument(
        '--period-us', metavar='US', type=_count, default=_PERIOD_US,
        help='the period of the reservation (default: %(default)s)')
    parser.add_argument(
        '--max-moves', metavar='N', type=_count, default=planner.MAX_MOVES,
        help='the largest number of moves in a plan; the time to plan grows '
             'fast with this number (default: %(default)s)')
    parser.add_argument('--apply', action='store_true',
                        help='make the moves')
    formats.add_option(parser, lists=True)


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(
            f'{text} is not a share of a pCPU; write it like 0.4')
    return share


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f'{text} is less than 1')
    return count


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--host', help='check only this compute host')
    parser.add_argument(
        '--kernel', action='store_true', help='fail if the budgets in the '
        'kernel cannot be read (default: read them if the host is this '
        'machine and this process may read them, else leave them out)')
    formats.add_option(parser, lists=True)


def _add_heal(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--host', help='repair only this compute host')
    parser.add_argument(
        '--instance', metavar='UUID', help='repair only the allocations of '
        'this server, or of another consumer in Placement')
    parser.add_argument('--apply', action='store_true',
                        help='make the changes')
    formats.add_option(parser, lists=True)


def _add_hint(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('server', metavar='UUID', help='the server')
    change = parser.add_mutually_exclusive_group()
    change.add_argument('--clear', action='store_true',
                        help='remove all reservation hints of the server')
    change.add_argument(
        '--set', metavar='KEY=VALUE', action='append', type=_pair,
        help='replace all reservation hints of the server by this one; may be '
             'repeated')
    formats.add_option(parser)


def _add_reserve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('server', metavar='UUID', help='the server')
    parser.add_argument('--runtime-us', metavar='US', type=int,
                        required=True, help='the new runtime')
    parser.add_argument('--period-us', metavar='US', type=int,
                        help='the new period (default: keep the period)')
    formats.add_option(parser)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition('=')
    if not equals or not key.startswith(reservation.HINT_PREFIX):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not of the form cpu.rt_runtime_us=100000')
    return key, value
