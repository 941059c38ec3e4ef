# SPDX-License-Identifier: Apache-2.0

"""``tacker-rt validate``: before a package is uploaded."""

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
    parser = commands.add_parser(
        'validate', help='show every problem of VNFDs and packages',
        description='Shows every problem of VNFDs and packages, one in each '
        'line.  Changes nothing.', epilog='Exit status: 0 there is no '
        'problem, 1 there is one, 3 wrong usage.')
    parser.add_argument('path', nargs='+', metavar='PATH', help='a VNFD, a '
                        'directory of them, or a package: a CSAR, or the '
                        'directory that it is made from')
    parser.add_argument(
        '--request', type=pathlib.Path, metavar='FILE', help='what will be '
        'asked for, too: the body of a request to instantiate, as JSON')
    parser.add_argument(
        '--root', metavar='DIR', help='the folder that imports of VNFDs may '
        'not leave (default: that of each VNFD)')
    parser.add_argument('-f', '--format', choices=('text', 'json'),
                        default='text')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    found = {path: _problems(path, args.request, args.root)
             for path in args.path}
    problems = [one for own in found.values() for one in own]
    warnings = [one for path, own in found.items() if not own
                for one in validate.warnings(path)]
    if args.format == 'json':
        print(json.dumps({
            'problems': [one.as_dict() for one in problems],
            'warnings': [one.as_dict() for one in warnings]}, indent=2))
    else:
        for warning in warnings:
            print(f'warning: {warning}', file=sys.stderr)
        for path, own in found.items():
            print('\n'.join(map(str, own)) or f'{path}: no problem')
    return 1 if problems else 0


def _problems(path: str, file: pathlib.Path | None, root: str | None
              ) -> list[problem.Problem]:
    try:
        asked = request.load(file) if file else request.Request()
        return list(validate.validate(path, asked, root))
    except exception.InvalidVnfd as error:
        return [error.kwargs['problem']]
