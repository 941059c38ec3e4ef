# SPDX-License-Identifier: Apache-2.0

"""``tacker-rt``: for people who write and on-board VNF descriptors.

The subcommand ``validate`` needs only this package and PyYAML.
"""

from collections.abc import Sequence

from nova_rt.cli import base

COMMANDS = tuple(
    base.installed(name, f'tacker_rt.cmd.{name}', extra='tacker')
    for name in ('validate', 'translate', 'pack', 'check'))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``tacker-rt`` and returns its exit status."""
    return base.run('tacker-rt', 'CPU reservations in VNF descriptors.',
                    COMMANDS, argv)
