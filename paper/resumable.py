# SPDX-License-Identifier: Apache-2.0

"""The common parts of campaigns that continue where they were stopped."""

import argparse
import math
import pathlib
import time

from paper import walk

#: A short check begins nothing after this time.
SHORT_S = 40.0
_BUILD = pathlib.Path(__file__).parent / 'build'


def register(parser: argparse.ArgumentParser, path: str,
             runs: int | None = None, about: str = '') -> None:
    """Adds the options of such a command.

    :param path: the results, below the directory for built files
    :param runs: how often everything is measured, or None
    :param about: more help about the file
    """
    if runs is not None:
        parser.add_argument('--runs', type=walk.positive, default=runs,
                            metavar='N', help='runs of each (%(default)s)')
    parser.add_argument('--seconds', type=walk.seconds, default=math.inf,
                        help='begin nothing after this time; 0: only the '
                        'table (default: no limit)')
    parser.add_argument('--short', action='store_true',
                        help='only check that the experiment works: one run, '
                        f'which begins nothing after {SHORT_S:.0f} s, with a '
                        'file of its own')
    parser.add_argument('--data', type=pathlib.Path, metavar='FILE',
                        default=_BUILD / path, help=f'{about}%(default)s')


def begin(options: argparse.Namespace) -> float:
    """Makes the directory of the results; a short check starts again.

    :returns: the time of the monotonic clock after which nothing may begin
    """
    if options.short:
        options.runs, options.seconds = 1, min(options.seconds, SHORT_S)
        options.data = options.data.with_stem(f'{options.data.stem}-short')
        for path in (options.data,
                     options.data.with_name(f'{options.data.name}.csv')):
            path.unlink(missing_ok=True)
    options.data.parent.mkdir(parents=True, exist_ok=True)
    return time.monotonic() + float(options.seconds)
