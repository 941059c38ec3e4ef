# SPDX-License-Identifier: Apache-2.0

"""The command that makes a flavor, for an operator to copy."""

from collections.abc import Mapping
import shlex


def command(name: str, vcpus: int, ram_mb: int,
            extra_specs: Mapping[str, str]) -> str:
    """Returns one line for a shell (paper 004, section 5).

    :param ram_mb: memory in MB
    """
    words = ['openstack', 'flavor', 'create', name, '--vcpus', str(vcpus),
             '--ram', str(ram_mb)]
    for key, value in extra_specs.items():
        words += ['--property', f'{key}={value}']
    return shlex.join(words)
