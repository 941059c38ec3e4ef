# SPDX-License-Identifier: Apache-2.0

"""What campaigns have in common that go on where they were ended."""

import argparse
import math
import pathlib
import time

from paper import walk

_BUILD = pathlib.Path(__file__).parent / 'build'


def register(parser: argparse.ArgumentParser, path: str,
             runs: int | None = None, about: str = '') -> None:
    """The options of such a command.

    :param path: of the results, below the directory for what is built
    :param runs: how often all is done, if it is done again
    :param about: what else is to be known of the file
    """
    if runs is not None:
        parser.add_argument('--runs', type=walk.positive, default=runs,
                            metavar='N', help='of each (%(default)s)')
    parser.add_argument('--seconds', type=walk.seconds, default=math.inf,
                        help='begin nothing later than this; 0: only the '
                        'table (default: no limit)')
    parser.add_argument('--data', type=pathlib.Path, metavar='FILE',
                        default=_BUILD / path, help=f'{about}%(default)s')


def begin(options: argparse.Namespace) -> float:
    """Makes room for the results.

    :returns: when to begin nothing more, of the monotonic clock
    """
    options.data.parent.mkdir(parents=True, exist_ok=True)
    return time.monotonic() + float(options.seconds)
