# SPDX-License-Identifier: Apache-2.0

"""``nova-rt``: what an operator runs by hand.

None of its subcommands may need Nova to be installed just because another
one does.
"""

from collections.abc import Sequence

from nova_rt.cli import base
from nova_rt.operate.commands import advise
from nova_rt.operate.commands import graph
from nova_rt.operate.commands import interference
from nova_rt.operate.commands import monitor
from nova_rt.operate.commands import pinning
from nova_rt.operate.commands import plan
from nova_rt.operate.commands import predict
from nova_rt.operate.commands import release
from nova_rt.operate.conformance import command as conformance
from nova_rt.operate.doctor import command as doctor

COMMANDS = (doctor.register, plan.register, predict.register,
            release.register, conformance.register, interference.register,
            pinning.register, monitor.register, monitor.register_top,
            graph.register, advise.register)


def main(argv: Sequence[str] | None = None) -> int:
    return base.run('nova-rt', 'CPU reservations for OpenStack Nova.',
                    COMMANDS, argv)
