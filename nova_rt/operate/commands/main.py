# SPDX-License-Identifier: Apache-2.0

"""``nova-rt``: the subcommands that an operator runs by hand.

A subcommand that works without Nova must stay usable where Nova is not
installed, even if other subcommands need Nova.
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
    """Runs ``nova-rt`` and returns its exit status."""
    return base.run('nova-rt', 'CPU reservations for OpenStack Nova.',
                    COMMANDS, argv)
