# SPDX-License-Identifier: Apache-2.0

"""Reads the flavors of the page on high-performance flavors."""

import dataclasses
import pathlib
import re

PAGE = (pathlib.Path(__file__).parents[1]
        / 'doc/source/admin/high-performance.rst')
_CREATE = re.compile(
    r'flavor create (\S+) --vcpus (\d+) --ram (\d+) --disk (\d+)\n'
    r'((?:   .*\n)*)')
_PROPERTY = re.compile(r'--property (\S+?)=(\S+)')


@dataclasses.dataclass(frozen=True)
class Flavor:
    """A flavor as ``openstack flavor create`` makes it.

    :ivar ram: MiB
    :ivar disk: GiB
    """

    vcpus: int
    ram: int
    disk: int
    specs: dict[str, str]


def read() -> dict[str, Flavor]:
    """The flavors of the page, by name."""
    return {name: Flavor(int(vcpus), int(ram), int(disk),
                         dict(_PROPERTY.findall(rest)))
            for name, vcpus, ram, disk, rest
            in _CREATE.findall(PAGE.read_text())}
