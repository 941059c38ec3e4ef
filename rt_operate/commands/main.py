# SPDX-License-Identifier: Apache-2.0

"""``nova-rt``: the subcommands that an operator runs by hand.

A subcommand that works without Nova must stay usable where Nova is not
installed, even if other subcommands need Nova.
"""

from collections.abc import Sequence

from nova_rt.cli import base
from rt_operate.commands import advise
from rt_operate.commands import graph
from rt_operate.commands import interference
from rt_operate.commands import monitor
from rt_operate.commands import pinning
from rt_operate.commands import plan
from rt_operate.commands import predict
from rt_operate.commands import release
from rt_operate.conformance import command as conformance
from rt_operate.doctor import command as doctor

COMMANDS = (doctor.register, plan.register, predict.register,
            release.register, conformance.register, interference.register,
            pinning.register, monitor.register, monitor.register_top,
            graph.register, advise.register)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``nova-rt`` and returns its exit status."""
    return base.run('nova-rt', 'CPU reservations for OpenStack Nova.',
                    COMMANDS, argv)
