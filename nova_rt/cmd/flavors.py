# SPDX-License-Identifier: Apache-2.0

"""The command that makes a flavor, for an operator to copy.

In two steps: ``flavor create --property`` ends with status 0 where Nova
refuses the properties, and leaves a flavor without them.
"""

from collections.abc import Mapping
import shlex

from nova_rt import reservation as rt_reservation


def command(name: str, vcpus: int, ram_mb: int,
            extra_specs: Mapping[str, str]) -> str:
    """Returns one line for a shell (paper 004, section 5).

    :param ram_mb: memory in MB
    """
    create = shlex.join(['openstack', 'flavor', 'create', name, '--vcpus',
                         str(vcpus), '--ram', str(ram_mb)])
    if not extra_specs:
        return create
    words = ['openstack', 'flavor', 'set', name]
    for key, value in extra_specs.items():
        words += ['--property', f'{key}={value}']
    return f'{create} && {shlex.join(words)}'


def reserved(reservation: rt_reservation.Reservation, vcpus: int,
             ram_mb: int) -> str:
    """Returns the command for a flavor with a reservation for each vCPU.

    :param ram_mb: memory in MB
    """
    prefix = rt_reservation.FLAVOR_PREFIX
    return command(
        f'rt-{reservation.runtime_us}-{reservation.period_us}', vcpus, ram_mb,
        {prefix + rt_reservation.RUNTIME_KEY: str(reservation.runtime_us),
         prefix + rt_reservation.PERIOD_KEY: str(reservation.period_us)})
