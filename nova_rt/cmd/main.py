# SPDX-License-Identifier: Apache-2.0

"""``nova-rt``: what an operator runs by hand.

None of its subcommands may need Nova to be installed just because another
one does.
"""

from collections.abc import Sequence

from nova_rt.cmd import advise
from nova_rt.cmd import base
from nova_rt.cmd import graph
from nova_rt.cmd import interference
from nova_rt.cmd import monitor
from nova_rt.cmd import pinning
from nova_rt.cmd import plan
from nova_rt.cmd import predict
from nova_rt.cmd import release
from nova_rt.conformance import command as conformance
from nova_rt.doctor import command as doctor

COMMANDS = (doctor.register, plan.register, predict.register,
            release.register, conformance.register, interference.register,
            pinning.register, monitor.register, monitor.register_top,
            graph.register, advise.register)


def main(argv: Sequence[str] | None = None) -> int:
    return base.run('nova-rt', 'CPU reservations for OpenStack Nova.',
                    COMMANDS, argv)
