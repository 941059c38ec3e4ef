# SPDX-License-Identifier: Apache-2.0

"""``nova-rt interference measure``: measures an interference matrix."""

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
_STATUSES = ('Exit status: 0 measured and written, 1 the measurement is not '
             'possible, 2 the time is up, 3 wrong usage.')


def register(actions: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the action ``measure`` to ``nova-rt interference``."""
    parser = actions.add_parser(
        'measure', help='measure network functions side by side on this host',
        description='Measures each function alone and beside each other '
                    'function, in random order, and writes how much of its '
                    'throughput each function keeps.  Needs root.  The '
                    'results so far are in FILE.csv; the same command, '
                    'started again, continues from them.',
        epilog=_STATUSES)
    parser.add_argument('profiles', nargs='+', metavar='PROFILE',
                        help='a file that says how to start a function, such '
                        'as the files in etc/interference')
    parser.add_argument('-o', '--output', required=True, type=pathlib.Path,
                        metavar='FILE', help='the interference matrix to '
                        'write')
    parser.add_argument(
        '--reservation', metavar='RUNTIME/PERIOD',
        help='give each function this reservation, in us, and measure '
             'the throughput with this reservation (default: no reservation; '
             'measure the work per second of CPU time)')
    last = max(os.sched_getaffinity(0))
    parser.add_argument(
        '--cpus', nargs=2, type=_cpu, default=(last, last),
        metavar=('TARGET', 'COMPETITOR'), help='the pCPUs of the two '
        'functions (default: the last pCPU for both)')
    parser.add_argument('--runs', type=_positive, default=5, metavar='N',
                        help='how often to measure each cell (default: '
                        '%(default)s)')
    parser.add_argument('--seconds', type=_positive, default=4, metavar='S',
                        help='how long to measure in each run (default: '
                        '%(default)s)')
    parser.add_argument('--limit', type=_positive, default=math.inf,
                        metavar='S', help='start no run after this many '
                        'seconds (default: no limit)')
    parser.set_defaults(run=_measure)


def _measure(args: argparse.Namespace) -> int:
    # Imported here, because they need oslo.privsep, which the other
    # subcommands do without.
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
    # An ordinary exit leaves no process, namespace or group behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not campaign.run(profiles, records, setting, args.runs,
                        time.monotonic() + args.limit, _tell):
        print('The time is up; run the same command again to continue.',
              file=sys.stderr)
        return _ENDED_EARLY
    summary.write(args.output, profiles, records, setting)
    return 0


def _profiles(paths: Sequence[str]) -> 'list[rt_profile.Profile]':
    """Returns the profiles that can run here and names those that cannot.

    :raises InvalidMatrix: when a profile is not valid or none can run
    """
    from rt_models.colocation import profile as rt_profile
    from rt_models.interference import yamlfile
    profiles: dict[str, rt_profile.Profile] = {}
    for path in paths:
        one = rt_profile.load(path)
        if one.type in profiles:
            raise yamlfile.refused(path, 'type', f'an earlier profile also '
                                   f'has the type {one.type}',
                                   'rename one of them')
        if one.missing:
            print(f'nova-rt: {path} is left out: the program {one.missing} '
                  'is not installed.', file=sys.stderr)
        else:
            profiles[one.type] = one
    if not profiles:
        raise yamlfile.refused(paths[0], 'needs', 'no profile can run here',
                               'install the programs that are missing')
    return [*profiles.values()]


def _check_output(path: pathlib.Path) -> None:
    """Checks that the results can be written.

    :raises CannotMeasure: when the results cannot be written
    """
    if path.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
        raise exception.CannotMeasure(
            what=path, reason='the file cannot be written; name another '
            'output')


def _tell(line: str) -> None:
    print(line, flush=True)


def _reservation(text: str | None) -> rt_reservation.Reservation | None:
    """Returns the reservation that is written as RUNTIME/PERIOD.

    :raises InvalidReservation: when the text is not a valid reservation
    """
    if text is None:
        return None
    runtime, _, period = text.partition('/')
    return rt_reservation.combine(
        _SOURCE,
        rt_reservation.parse(_SOURCE, rt_reservation.RUNTIME_KEY, runtime),
        rt_reservation.parse(_SOURCE, rt_reservation.PERIOD_KEY, period))


def _cpu(text: str) -> int:
    if not text.isdecimal() or int(text) not in os.sched_getaffinity(0):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a pCPU that this process may use')
    return int(text)


def _positive(text: str) -> int:
    if not re.fullmatch(r'[0-9]{1,6}', text) or not int(text):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a whole number from 1 to 999999')
    return int(text)
