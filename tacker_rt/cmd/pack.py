# SPDX-License-Identifier: Apache-2.0

"""``tacker-rt pack``: makes a CSAR of a directory or of a legacy VNFD."""

import argparse
import json
from pathlib import Path
import sys
from typing import Any

from tacker_rt import exception
from tacker_rt.package import legacy
from tacker_rt.package import pack
from tacker_rt import problem
from tacker_rt import validate


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``pack``."""
    parser = commands.add_parser(
        'pack', help='make a CSAR of a directory or of a legacy VNFD',
        description='Makes a CSAR of the directory of a package, or a SOL001 '
        'package of a legacy VNFD.  Adds TOSCA.meta and the imported type '
        'files if they are missing.', epilog='Exit status: 0 '
        'done, 1 the source cannot be packed, 3 wrong usage.')
    parser.add_argument('source', type=Path, metavar='SOURCE',
                        help='the directory of a package, or a legacy VNFD')
    parser.add_argument('target', type=Path, metavar='CSAR',
                        help='the file to write')
    parser.add_argument(
        '--image', help='the image for VDUs of a legacy VNFD that name no '
        'image')
    parser.add_argument(
        '--etsi-types', type=Path, metavar='DIR',
        help='the directory of the type files of SOL001 (default: the files '
             'that come with Tacker)')
    parser.add_argument('-f', '--format', choices=('text', 'json'),
                        default='text', help='the format of the output '
                        '(default: %(default)s)')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand and returns its exit status."""
    warnings: list[problem.Problem] = []
    try:
        _check(args.source, args.target)
        if args.source.is_dir():
            members = pack.directory(args.source, args.etsi_types, warnings)
            warnings += validate.warnings(str(args.source))
        else:
            members = legacy.members(args.source, image=args.image,
                                     etsi=args.etsi_types,
                                     warnings=warnings)
        pack.write(members, args.target)
    except exception.TackerRTError as error:
        print(error, file=sys.stderr)
        return 1
    if args.format == 'json':
        print(json.dumps({'package': str(args.target), 'warnings': [
            warning.as_dict() for warning in warnings]}, indent=2))
        return 0
    for warning in warnings:
        print(f'warning: {warning}', file=sys.stderr)
    return 0


def _check(source: Path, target: Path) -> None:
    """Checks that the CSAR does not lie in the directory that is packed.

    The next CSAR would contain it.

    :raises InvalidVnfd: when the CSAR lies in the directory
    """
    if target.resolve().is_relative_to(source.resolve()):
        raise exception.InvalidVnfd(problem=problem.Problem(
            str(target), 'the CSAR must not be the source, or lie in the '
            f'source ({source})', 'give a path outside of the source'))
