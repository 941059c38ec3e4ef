# SPDX-License-Identifier: Apache-2.0

"""The command line of ``rt-probe``: its options and subcommands."""

import argparse
from collections.abc import Sequence
import os
import signal
import sys
import time
import types
from typing import NoReturn

from nova_rt import version
from rt_probe import bundle
from rt_probe import bursts
from rt_probe import errors
from rt_probe import outlets
from rt_probe import speed
from rt_probe import watch

_NS_PER_S = 1_000_000_000
_LOCAL = '127.0.0.1'
_FAILED, _USAGE, _INTERRUPTED = 1, 3, 130


class _Parser(argparse.ArgumentParser):

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(_USAGE, f'{self.prog}: error: {message}\n')


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``rt-probe`` with these arguments and returns its exit status."""
    args = _parser().parse_args(argv)
    try:
        status: int = args.run(args)
    except errors.ProbeError as error:
        print(f'rt-probe: {error}', file=sys.stderr)
        return _FAILED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED
    return status


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog='rt-probe', description='Report how much CPU this virtual '
        'machine, container or pod has, as seen from inside.')
    version.add_option(parser)
    commands = parser.add_subparsers(required=True, metavar='COMMAND')
    run = commands.add_parser('run', help='report once per interval, until '
                              'the probe is stopped')
    _add_options(run)
    out = run.add_mutually_exclusive_group()
    out.add_argument('--listen', type=_address, metavar='[ADDRESS:]PORT',
                     help='answer GET /metrics at this address, for '
                     'Prometheus, instead of printing lines of JSON '
                     f'(default address: {_LOCAL})')
    out.add_argument('--textfile', type=_textfile, metavar='PATH',
                     help='write each report to this file, for the textfile '
                     'collector of node_exporter, instead of printing lines '
                     'of JSON; the name must end with .prom')
    run.set_defaults(run=_run)
    once = commands.add_parser('once', help='report once')
    _add_options(once)
    once.set_defaults(run=_once)
    calibrate = commands.add_parser(
        'calibrate', help='measure how long the reference tasks take on '
        'this machine and save the times')
    calibrate.add_argument('file', metavar='FILE',
                           help='the file to save the times in')
    calibrate.set_defaults(run=_calibrate)
    bundled = commands.add_parser(
        'bundle', help='write rt-probe as a single file, for machines on '
        'which nothing can be installed')
    bundled.add_argument('file', metavar='FILE', help='the file to write')
    bundled.set_defaults(run=_bundle)
    return parser


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--interval', type=_interval, default=watch.Options().interval_ns,
        metavar='SECONDS', help='the time between two readings (default: '
        '0.5)')
    parser.add_argument(
        '--pid', type=_positive, action='append', default=[], metavar='N',
        help='a process of the VNF; may be given several times (default: '
        'all processes of the control group or of the machine)')
    parser.add_argument(
        '--machine', action='store_true',
        help='measure the whole machine, also from within a control group; '
        'the probe refuses this in a container')
    parser.add_argument(
        '--burst', choices=('never', 'idle'), default='never',
        help='when the probe may use up the reservation, to measure how large '
        'it is: never, or now and then while the VNF is idle (default: '
        '%(default)s)')
    parser.add_argument(
        '--max-load', type=_load, default=watch.Options().max_load,
        metavar='PART', help='the part of the reservation that bursts may '
        'use (default: %(default)s)')
    parser.add_argument(
        '--period-us', type=_period, metavar='US',
        help='the period of the reservation; needed where the period cannot '
        'be seen from inside, for example in a virtual machine')
    parser.add_argument(
        '--calibration', metavar='FILE',
        help='a file that "rt-probe calibrate" wrote; the reports then also '
        'contain the speed of the CPU')


def _number(text: str, least: float, most: float, unit: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float('nan')
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a number from {least:g} to {most:g} {unit}')
    return value


def _interval(text: str) -> int:
    return round(_number(text, 0.05, 3600, 'seconds') * _NS_PER_S)


def _load(text: str) -> float:
    return _number(text, 0.0001, 0.5, 'of the reservation')


def _period(text: str) -> int:
    return round(_number(text, 100, 4_194_304, 'microseconds') * 1000)


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f'{text!r} is not a process ID')
    return int(text)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(':')
    if not port.isdecimal() or not int(port) < 65536:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not of the form [ADDRESS:]PORT, for example '
            f'{_LOCAL}:9105')
    return host.removeprefix('[').removesuffix(']') or _LOCAL, int(port)


def _textfile(text: str) -> str:
    if not text.endswith('.prom'):
        raise argparse.ArgumentTypeError(
            f'{text!r} does not end with .prom, and the textfile collector '
            'reads no other files')
    return text


def _options(args: argparse.Namespace) -> watch.Options:
    processes = tuple(args.pid)
    for process in processes:
        if not os.path.exists(f'/proc/{process}'):
            raise errors.ProbeError(
                f'--pid {process}: there is no process with this ID here; a '
                'probe in another container than the VNF must share its PID '
                'namespace')
    calibration = speed.read(args.calibration) if args.calibration else {}
    return watch.Options(args.interval, processes, args.machine,
                         args.burst == 'idle', args.max_load,
                         args.period_us, calibration)


def _watch(args: argparse.Namespace) -> watch.Watch:
    watching = watch.Watch(_options(args))

    def leave(number: int, frame: types.FrameType | None) -> NoReturn:
        watching.bursts.end()
        # All reports are written, and Python's own exit would take 10 ms.
        os._exit(0)
    signal.signal(signal.SIGTERM, leave)
    return watching


def _run(args: argparse.Namespace) -> int:
    watching = _watch(args)
    outlet: outlets.Outlet = outlets.Lines()
    if args.listen:
        outlet = outlets.Listener(*args.listen)
    elif args.textfile:
        outlet = outlets.Textfile(args.textfile)
    watching.start()
    until = time.monotonic()
    while True:
        # A reading that comes late, for example after a burst, also delays
        # the readings after it.
        until = max(until + watching.pause_ns / _NS_PER_S, time.monotonic())
        outlet.wait(until)
        outlet.put(watching.take_reading())


def _once(args: argparse.Namespace) -> int:
    watching = _watch(args)
    reason = watching.start()
    if reason:
        raise errors.ProbeError(f'nothing can be measured: {reason}')
    time.sleep(args.interval / _NS_PER_S)
    outlets.Lines().put(watching.take_reading(bursts.KEPT))
    return 0


def _calibrate(args: argparse.Namespace) -> int:
    times = speed.measure()
    speed.write(args.file, times)
    for name, time_us in times.items():
        print(f'{name}: {time_us:.1f} us')
    return 0


def _bundle(args: argparse.Namespace) -> int:
    bundle.write(args.file)
    return 0
