# SPDX-License-Identifier: Apache-2.0

"""The command line: ``run.sh`` (--help)."""

import argparse
from collections.abc import Sequence
import dataclasses
import math
import pathlib
import signal
import subprocess
import sys

from nova_rt.rules import exception
from paper import bench
from paper import chain
from paper import chance
from paper import containers
from paper import fig6
from paper import fig7
from paper.fig8 import campaign as fig8
from paper import figures
from paper.interference import campaign as interference
from paper import measure
from paper.pinning import campaign as pinning
from paper import placing
from paper.probe import campaign as probe
from paper import rtwalk
from paper import scheduling
from paper.sip import fig8 as sip_fig8
from paper import table3
from paper import walk

#: Experiments with many points, which several commands can share.
CAMPAIGNS = {'table3': table3, 'fig6': fig6, 'fig7': fig7}
EXPERIMENTS = {'containers': containers, 'chance': chance}
#: Commands with options of their own.
TOOLS = {'walk': walk, 'chain': chain, 'fig8': fig8, 'fig8-sip': sip_fig8,
         'probe': probe, 'pinning': pinning, 'interference': interference,
         'placing': placing}
#: The kernel objects that can hold the reservation of a server.
PLACES = {'deadline': scheduling.reserved, 'group': scheduling.grouped}
RESULTS = pathlib.Path(__file__).parent / 'build'


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    parser = argparse.ArgumentParser(prog='run.sh', description=__doc__,
                                     epilog='PAPER FIGURE names a figure of a '
                                     'paper; "figures" lists them.')
    commands = parser.add_subparsers(dest='command', required=True)
    for name, module in (CAMPAIGNS | EXPERIMENTS).items():
        about = (module.__doc__ or '').strip()
        _register(commands.add_parser(name, help=about, description=about),
                  name)
    for name, module in TOOLS.items():
        about = (module.__doc__ or '').partition(':')[0]
        module.register(commands.add_parser(name, help=about,
                                            description=about))
    given = sys.argv[1:] if arguments is None else arguments
    if given == [figures.LIST]:
        print(figures.text())
        return 0
    try:
        options = parser.parse_args(figures.words(given))
    except (figures.NoFigure, figures.NoData) as error:
        parser.error(str(error))
    # So no process, namespace or group is left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        tool = TOOLS.get(options.command)
        print(tool.run(options) if tool else run(options))
    except (exception.RTError, OSError,
            subprocess.SubprocessError) as error:
        print(f'{options.command}: {error}', file=sys.stderr)
        return 1
    return 0


def _register(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument('--short', action='store_true',
                        help='only check that the experiment works; there are '
                             'too few runs for statistics')
    if name in EXPERIMENTS:
        parser.set_defaults(server='group')
    else:
        parser.add_argument(
            '--server', choices=PLACES, default='deadline', help='make the '
            'server a thread under SCHED_DEADLINE (default), or put it into a '
            'control group, as nova-compute does')
    parser.add_argument('--output', type=pathlib.Path, metavar='DIRECTORY',
                        default=RESULTS / name,
                        help='for data, plot and table (%(default)s)')
    parser.add_argument('--seed-base', type=walk.positive, metavar='N',
                        help='the first seed, to repeat the requests of an '
                        'earlier command (default: a new seed)')
    if name in CAMPAIGNS:
        _register_extent(parser)


def _register_extent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--data', type=pathlib.Path, metavar='FILE',
                        help='the CSV file of runs, for old and new runs '
                        '(default: in DIRECTORY)')
    parser.add_argument('--seeds', type=walk.positive, metavar='N',
                        default=measure.Effort().seeds,
                        help='number of runs of each point (%(default)s)')
    parser.add_argument('--run-seconds', type=walk.seconds, metavar='S',
                        default=1.0, help='length of a run (%(default)s), '
                        f'with {measure.LEAST} to {measure.Effort().requests}'
                        ' requests')
    parser.add_argument('--seconds', type=walk.seconds, metavar='S',
                        default=math.inf, help='start no run after this '
                        'time; the same command continues later (default: no '
                        'limit; 0: no run, only the table)')
    parser.add_argument('--points', nargs='+', default=['*'],
                        metavar='PATTERN', help='measure only points '
                        "whose names match, such as '128B-0.5-*us'")
    parser.add_argument('--scale', type=walk.positive, default=1,
                        metavar='N', help='make all times N times as long as '
                        'in the paper, also those of the link, for kernels '
                        'that keep no period of 2 ms (default: %(default)s)')


def run(options: argparse.Namespace) -> str:
    """Runs one of CAMPAIGNS or EXPERIMENTS; returns its table."""
    options.output.mkdir(parents=True, exist_ok=True)
    rtwalk.build()
    settings = bench.Settings(
        options.output, PLACES[options.server],
        measure.SHORT if options.short else measure.Effort(),
        options.seed_base or measure.random_base())
    text: str = (
        CAMPAIGNS[options.command].run(*_extended(settings, options))
        if options.command in CAMPAIGNS
        else EXPERIMENTS[options.command].run(settings))
    (options.output / f'{options.command}.rst').write_text(text)
    return text


def _extended(settings: bench.Settings, options: argparse.Namespace
              ) -> tuple[bench.Settings, bench.Extent]:
    """Returns the part of the points that the options of CAMPAIGNS select."""
    if options.short:
        data = options.output / f'{options.command}-short.csv'
        data.unlink(missing_ok=True)
        return settings, bench.Extent(data, first=2, scale=options.scale)
    effort = dataclasses.replace(settings.effort, warm_up=0,
                                 seeds=options.seeds)
    return dataclasses.replace(settings, effort=effort), bench.Extent(
        options.data or options.output / f'{options.command}.csv',
        options.run_seconds, options.seconds, options.points,
        scale=options.scale)


if __name__ == '__main__':
    sys.exit(main())
