# SPDX-License-Identifier: Apache-2.0

"""The command line: ``run.sh`` (--help)."""

import argparse
from collections.abc import Sequence
import pathlib
import signal
import subprocess
import sys

from experiments import bench
from experiments import containers
from experiments import fig6
from experiments import fig7
from experiments import fig8
from experiments import measure
from experiments import rtwalk
from experiments import scheduling
from experiments.sip import fig8 as sip_fig8
from experiments import table3
from experiments import walk
from nova_rt import exception

EXPERIMENTS = {'table3': table3, 'fig6': fig6, 'fig7': fig7, 'fig8': fig8,
               'fig8-sip': sip_fig8, 'containers': containers}
#: What holds the reservation of a server.
PLACES = {'deadline': scheduling.reserved, 'group': scheduling.grouped}
RESULTS = pathlib.Path(__file__).parent / 'build'


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog='run.sh', description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True)
    for name, module in EXPERIMENTS.items():
        about = (module.__doc__ or '').strip()
        _register(commands.add_parser(name, help=about, description=about),
                  name)
    about = walk.__doc__.partition(':')[0]
    walk.register(commands.add_parser('walk', help=about, description=about))
    options = parser.parse_args(arguments)
    # To leave no process, namespace or group behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        print(walk.run(options) if options.command == 'walk'
              else run(options))
    except (exception.RTError, OSError,
            subprocess.SubprocessError) as error:
        print(f'{options.command}: {error}', file=sys.stderr)
        return 1
    return 0


def _register(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument('--short', action='store_true',
                        help='see that it works, without statistics')
    if name in ('fig8-sip', 'containers'):
        parser.set_defaults(server='group')
    else:
        parser.add_argument(
            '--server', choices=PLACES, default='deadline', help='a thread '
            'under SCHED_DEADLINE (default), or a control group as '
            'nova-compute makes it')
    parser.add_argument('--output', type=pathlib.Path, metavar='DIRECTORY',
                        default=RESULTS / name,
                        help='where data, plot and table go (%(default)s)')


def run(options: argparse.Namespace) -> str:
    """One of EXPERIMENTS; returns its table."""
    options.output.mkdir(parents=True, exist_ok=True)
    rtwalk.build()
    effort = measure.SHORT if options.short else measure.Effort()
    text: str = EXPERIMENTS[options.command].run(bench.Settings(
        options.output, PLACES[options.server], effort))
    (options.output / f'{options.command}.rst').write_text(text)
    return text


if __name__ == '__main__':
    sys.exit(main())
