# SPDX-License-Identifier: Apache-2.0

"""``tacker-rt``: for those who write and on-board VNF descriptors.

``validate`` needs nothing but this package and PyYAML.
"""

from collections.abc import Sequence

from nova_rt.cli import base

from tacker_rt.cmd import check
from tacker_rt.cmd import pack
from tacker_rt.cmd import translate
from tacker_rt.cmd import validate

COMMANDS = (validate.register, translate.register, pack.register,
            check.register)


def main(argv: Sequence[str] | None = None) -> int:
    return base.run('tacker-rt', 'CPU reservations in VNF descriptors.',
                    COMMANDS, argv)
