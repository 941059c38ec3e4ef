# SPDX-License-Identifier: Apache-2.0

"""Prints the commands that create a flavor, for an operator to copy."""

from collections.abc import Mapping
import shlex

from nova_rt.rules import reservation as rt_reservation


def command(name: str, vcpus: int, ram_mb: int,
            extra_specs: Mapping[str, str]) -> str:
    """Returns one line for a shell (paper 004, section 5).

    A second command sets the properties, because "flavor create" exits with
    0 even when Nova refuses them (python-openstackclient 10).

    :param ram_mb: memory in MB
    """
    create = ['openstack', 'flavor', 'create', name, '--vcpus', str(vcpus),
              '--ram', str(ram_mb)]
    change = ['openstack', 'flavor', 'set', name]
    for key, value in extra_specs.items():
        change += ['--property', f'{key}={value}']
    return f'{shlex.join(create)} && {shlex.join(change)}'


def reserved(reservation: rt_reservation.Reservation, vcpus: int,
             ram_mb: int) -> str:
    """Returns the commands for a flavor that reserves CPU for each vCPU.

    :param ram_mb: memory in MB
    """
    prefix = rt_reservation.FLAVOR_PREFIX
    return command(
        f'rt-{reservation.runtime_us}-{reservation.period_us}', vcpus, ram_mb,
        {prefix + rt_reservation.RUNTIME_KEY: str(reservation.runtime_us),
         prefix + rt_reservation.PERIOD_KEY: str(reservation.period_us)})
