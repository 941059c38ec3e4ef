# SPDX-License-Identifier: Apache-2.0

"""``nova-rt interference measure``: what functions here do to each other."""

import argparse
from collections.abc import Sequence
import math
import os
import pathlib
import re
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation

if TYPE_CHECKING:
    from rt_models.colocation import profile as rt_profile

_ENDED_EARLY = 2
_SOURCE = 'option --reservation'
_STATUSES = ('Exit status: 0 measured and written, 1 it cannot be measured, '
             '2 the time is up, 3 wrong usage.')


def register(actions: 'argparse._SubParsersAction[Any]') -> None:
    parser = actions.add_parser(
        'measure', help='measure network functions side by side on this host',
        description='Measures each function alone and beside each other one, '
                    'in random order, and writes what each keeps of its '
                    'throughput.  Needs root.  Results so far are in '
                    'FILE.csv; the same command goes on with them.',
        epilog=_STATUSES)
    parser.add_argument('profiles', nargs='+', metavar='PROFILE',
                        help='a file that says how to start a function, as '
                        'those of etc/interference')
    parser.add_argument('-o', '--output', required=True, type=pathlib.Path,
                        metavar='FILE')
    parser.add_argument(
        '--reservation', metavar='RUNTIME/PERIOD',
        help='in us, for each: throughput under it is measured (default: '
             'none, and work per second of CPU time)')
    last = max(os.sched_getaffinity(0))
    parser.add_argument(
        '--cpus', nargs=2, type=_cpu, default=(last, last),
        metavar=('TARGET', 'COMPETITOR'), help='pCPUs (default: the last '
        'one for both)')
    parser.add_argument('--runs', type=_positive, default=5, metavar='N',
                        help='of each cell (default: %(default)s)')
    parser.add_argument('--seconds', type=_positive, default=4, metavar='S',
                        help='that a run is watched (default: %(default)s)')
    parser.add_argument('--limit', type=_positive, default=math.inf,
                        metavar='S', help='begin no run later than this '
                        '(default: none)')
    parser.set_defaults(run=_measure)


def _measure(args: argparse.Namespace) -> int:
    # They need oslo.privsep, which the other subcommands do without.
    from rt_models.colocation import campaign
    from rt_models.colocation import records as rt_records
    from rt_models.colocation import summary
    from rt_models.colocation import trial
    profiles = _profiles(args.profiles)
    _check_output(args.output)
    setting = trial.Setting(tuple(args.cpus), _reservation(args.reservation),
                            args.seconds)
    records = rt_records.Records(
        args.output.with_name(f'{args.output.name}.csv'), str(setting))
    # To leave no process, namespace or group behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not campaign.run(profiles, records, setting, args.runs,
                        time.monotonic() + args.limit, _tell):
        print('The time is up; the same command goes on.', file=sys.stderr)
        return _ENDED_EARLY
    summary.write(args.output, profiles, records, setting)
    return 0


def _profiles(paths: Sequence[str]) -> 'list[rt_profile.Profile]':
    """Those that can run here; says which are left out.

    :raises InvalidMatrix: one is wrong, or there is none
    """
    from rt_models.colocation import profile as rt_profile
    from rt_models.interference import yamlfile
    found: dict[str, rt_profile.Profile] = {}
    for path in paths:
        one = rt_profile.load(path)
        if one.type in found:
            raise yamlfile.refused(path, 'type', f'{one.type} is that of an '
                                   'earlier profile', 'rename one of them')
        if one.missing:
            print(f'nova-rt: {path} is left out: the program {one.missing} '
                  'is not installed.', file=sys.stderr)
        else:
            found[one.type] = one
    if not found:
        raise yamlfile.refused(paths[0], 'needs', 'no profile is left',
                               'install the programs')
    return [*found.values()]


def _check_output(path: pathlib.Path) -> None:
    """:raises CannotMeasure: what is measured could not be kept"""
    if path.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise exception.CannotMeasure(
            what=path, reason='it is no file that can be written; name '
            'another output')


def _tell(line: str) -> None:
    print(line, flush=True)


def _reservation(text: str | None) -> rt_reservation.Reservation | None:
    """:raises InvalidReservation: it is no runtime of a period"""
    if text is None:
        return None
    runtime, _, period = text.partition('/')
    return rt_reservation.combine(
        _SOURCE,
        rt_reservation.parse(_SOURCE, rt_reservation.RUNTIME_KEY, runtime),
        rt_reservation.parse(_SOURCE, rt_reservation.PERIOD_KEY, period))


def _cpu(text: str) -> int:
    if not text.isdecimal() or int(text) not in os.sched_getaffinity(0):
        raise argparse.ArgumentTypeError(f'{text!r} is no pCPU of this host')
    return int(text)


def _positive(text: str) -> int:
    if not re.fullmatch(r'[0-9]{1,6}', text) or not int(text):
        raise argparse.ArgumentTypeError(
            f'{text!r} is no whole number above 0')
    return int(text)
