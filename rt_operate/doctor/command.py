# SPDX-License-Identifier: Apache-2.0

"""The subcommand ``nova-rt doctor``."""

import argparse
from collections.abc import Sequence
import shutil
from typing import Any

from nova_rt.cli import formats
from nova_rt.machine.host import files as host_files
from rt_operate.doctor.checks import capacity
from rt_operate.doctor import examine
from rt_operate.doctor import findings
from rt_operate.doctor import options
from rt_operate.doctor import report
from rt_operate.doctor import view as doctor_view

_WIDTH = 79


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``doctor``."""
    parser = commands.add_parser(
        'doctor', help='check whether this compute host can keep CPU '
                       'reservations',
        description='Checks whether this compute host can offer and keep CPU '
                    'reservations, and prints what is wrong and how to '
                    'correct it.  Changes nothing.',
        epilog='Exit status: 0 all OK, 1 warnings, 2 problems, 3 wrong '
               'usage.')
    formats.add_option(parser, lists=True)
    parser.add_argument(
        '--config-file', action='append', default=[], metavar='FILE',
        help='a nova.conf; may be repeated (default: the files that '
             'nova-compute reads)')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand and returns its exit status."""
    view = doctor_view.View(host_files.Host(),
                            options.load(args.config_file))
    results = examine.examine(view)
    formats.show(
        args, lambda: report.text(
            results, shutil.get_terminal_size((_WIDTH, 24)).columns),
        lambda: _json(view, results), lambda: report.as_table(results))
    return findings.exit_status(results)


def _json(view: doctor_view.View, results: Sequence[findings.Finding]
          ) -> str:
    outside = view.outside
    return report.as_json(
        results, None if outside else view.detection.name,
        None if outside else capacity.offered(view).ppm,
        not outside and capacity.is_per_pcpu(view))
