# SPDX-License-Identifier: Apache-2.0

"""``tacker-rt validate``: finds problems before a package is uploaded."""

import argparse
import json
import pathlib
import sys
from typing import Any

from tacker_rt import exception
from tacker_rt import problem
from tacker_rt import request
from tacker_rt import validate


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``validate``."""
    parser = commands.add_parser(
        'validate', help='show every problem of VNFDs and packages',
        description='Shows every problem of VNFDs and packages, one in each '
        'line.  Changes nothing.', epilog='Exit status: 0 there is no '
        'problem, 1 there is a problem, 3 wrong usage.')
    parser.add_argument('path', nargs='+', metavar='PATH', help='a VNFD, a '
                        'directory of VNFDs, or a package: a CSAR, or the '
                        'directory from which a CSAR is made')
    parser.add_argument(
        '--request', type=pathlib.Path, metavar='FILE', help='the body of a '
        'request to instantiate, as JSON, which is checked together with the '
        'VNFDs')
    parser.add_argument(
        '--root', metavar='DIR', help='the directory that imports of VNFDs '
        'may not leave (default: the directory of each VNFD)')
    parser.add_argument('-f', '--format', choices=('text', 'json'),
                        default='text', help='the format of the output '
                        '(default: %(default)s)')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand and returns its exit status."""
    by_path = {path: _problems(path, args.request, args.root)
               for path in args.path}
    problems = [one for own in by_path.values() for one in own]
    warnings = [warning for path, own in by_path.items() if not own
                for warning in validate.warnings(path)]
    if args.format == 'json':
        print(json.dumps({
            'problems': [one.as_dict() for one in problems],
            'warnings': [warning.as_dict() for warning in warnings]},
            indent=2))
    else:
        for warning in warnings:
            print(f'warning: {warning}', file=sys.stderr)
        for path, own in by_path.items():
            print('\n'.join(map(str, own)) or f'{path}: no problem')
    return 1 if problems else 0


def _problems(path: str, file: pathlib.Path | None, root: str | None
              ) -> list[problem.Problem]:
    try:
        body = request.load(file) if file else request.Request()
        return list(validate.validate(path, body, root))
    except exception.InvalidVnfd as error:
        return [error.kwargs['problem']]
