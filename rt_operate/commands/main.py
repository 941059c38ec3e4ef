# SPDX-License-Identifier: Apache-2.0

"""``nova-rt``: the subcommands that an operator runs by hand.

A subcommand that works without Nova or numpy must stay usable where they are
not installed, even if other subcommands need them.
"""

from collections.abc import Sequence

from nova_rt.cli import base

_HERE = 'rt_operate.commands.'
COMMANDS = (
    base.installed('doctor', 'rt_operate.doctor.command'),
    base.installed('plan', _HERE + 'plan'),
    base.installed('predict', _HERE + 'predict'),
    base.installed('release', _HERE + 'release'),
    base.installed('conformance', 'rt_operate.conformance.command'),
    base.installed('interference', _HERE + 'interference'),
    base.installed('pinning', _HERE + 'pinning'),
    base.installed('monitor', _HERE + 'monitor'),
    base.installed('top', _HERE + 'monitor', 'register_top'),
    base.installed('graph', _HERE + 'graph'),
    base.installed('advise', _HERE + 'advise'),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``nova-rt`` and returns its exit status."""
    return base.run('nova-rt', 'CPU reservations for OpenStack Nova.',
                    COMMANDS, argv)
