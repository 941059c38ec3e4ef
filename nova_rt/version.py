# SPDX-License-Identifier: Apache-2.0

"""The version of this package, and the option that shows it.

The version comes from the metadata of the installed package, which a bundle of
rt-probe also contains.
"""

import argparse
from collections.abc import Sequence
import functools
from typing import Any

PACKAGE = 'nova-rt'
#: The version of a tree that was never installed.
UNKNOWN = 'unknown'


@functools.cache
def get() -> str:
    """Returns the version, for example 0.1.0."""
    # Only here: the import takes longer than the start of rt-probe.
    from importlib import metadata
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return UNKNOWN


def line(prog: str) -> str:
    """Returns what a command prints for ``--version``."""
    return f'{prog} {get()}'


def add_option(parser: argparse.ArgumentParser) -> None:
    """Adds ``--version``, as each command has it."""
    parser.add_argument('--version', action=_Version, nargs=0,
                        default=argparse.SUPPRESS,
                        help='show the version of nova-rt and exit')


class _Version(argparse.Action):
    """Prints the version, but reads the version only when asked for it.

    argparse's own action would need the version at each start of a command.
    """

    def __call__(self, parser: argparse.ArgumentParser,
                 namespace: argparse.Namespace,
                 values: str | Sequence[Any] | None,
                 option_string: str | None = None) -> None:
        print(line(parser.prog))
        parser.exit()
