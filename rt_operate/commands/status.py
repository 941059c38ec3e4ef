# SPDX-License-Identifier: Apache-2.0

"""``nova-rt-status upgrade check``, modelled on nova-status."""

import argparse
from collections.abc import Sequence
import sys

from oslo_upgradecheck import upgradecheck

from nova_rt.cli import base
from nova_rt.cli import formats
from nova_rt import version
from rt_operate.manage import errors
from rt_operate.manage import start
from rt_operate.manage import upgrade

PROG = 'nova-rt-status'
#: As in nova-status: a value that cannot be the result of a check.
_FAILED = 255


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``nova-rt-status`` and returns its exit status."""
    args = _parser().parse_args(argv)
    try:
        start.configure(PROG, args.config_file, args.config_dir, False)
        # The base class reads the format from here.  Its own main() would
        # parse the command line into Nova's options.
        upgradecheck.CONF = argparse.Namespace(
            command=argparse.Namespace(json=args.format == 'json'))
        return int(upgrade.Checks().check())
    except Exception as error:
        print(f'{PROG}: {errors.sentence(error)}', file=sys.stderr)
        return _FAILED


def _parser() -> argparse.ArgumentParser:
    parser = base.Parser(
        prog=PROG, description='Checks whether this host and the cloud are '
        'ready for nova-rt.')
    version.add_option(parser)
    start.add_arguments(parser)
    categories = parser.add_subparsers(required=True, metavar='upgrade')
    actions = categories.add_parser('upgrade').add_subparsers(
        required=True, metavar='check')
    check = actions.add_parser(
        'check', help='show what is not ready; changes nothing',
        description='Exit status: 0 ready, 1 warnings, 2 failures, 3 wrong '
        'usage, 255 not everything could be checked.')
    formats.add_option(check, known=(formats.TEXT, formats.JSON))
    return parser
