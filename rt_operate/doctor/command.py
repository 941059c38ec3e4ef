# SPDX-License-Identifier: Apache-2.0

"""``nova-rt doctor`` as a subcommand."""

import argparse
import shutil
from typing import Any

from nova_rt.cli import base
from nova_rt.machine.host import files as host_files
from rt_operate.doctor.checks import capacity
from rt_operate.doctor import examine
from rt_operate.doctor import findings
from rt_operate.doctor import options
from rt_operate.doctor import report
from rt_operate.doctor import view as doctor_view

_WIDTH = 79


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    parser = commands.add_parser(
        'doctor', help='look at this compute host before calling for help',
        description='Look at this compute host and say what stands between '
                    'it and CPU reservations.  Changes nothing.',
        epilog='Exit status: 0 all OK, 1 warnings, 2 problems, 3 wrong '
               'usage.')
    base.add_format(parser)
    parser.add_argument(
        '--config-file', action='append', default=[], metavar='FILE',
        help='a nova.conf; may be repeated (default: those of nova-compute)')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    view = doctor_view.View(host_files.Host(),
                            options.load(args.config_file))
    found = examine.examine(view)
    if args.format == 'json':
        outside = view.outside
        print(report.as_json(
            found, None if outside else view.detection.name,
            None if outside else capacity.offered(view).ppm))
    else:
        width = shutil.get_terminal_size((_WIDTH, 24)).columns
        print(report.text(found, width))
    return findings.exit_status(found)
