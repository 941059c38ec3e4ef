# SPDX-License-Identifier: Apache-2.0

"""``tacker-rt``: for those who write and on-board VNF descriptors.

``validate`` needs nothing but this package and PyYAML.
"""

from collections.abc import Sequence

from nova_rt.cli import base

COMMANDS = tuple(
    base.installed(name, f'tacker_rt.cmd.{name}', extra='tacker')
    for name in ('validate', 'translate', 'pack', 'check'))


def main(argv: Sequence[str] | None = None) -> int:
    return base.run('tacker-rt', 'CPU reservations in VNF descriptors.',
                    COMMANDS, argv)
