# SPDX-License-Identifier: Apache-2.0

"""Finds the pCPUs for the threads of servers that are not vCPUs."""

from collections.abc import Collection, Iterator
import dataclasses

from nova.virt import hardware

from nova_rt.rules import exception
from nova_rt.rules import words

_OPTION = 'emulator_cpus'


@dataclasses.dataclass(frozen=True, slots=True)
class HostCPUs:
    """The pCPUs of a host, by their use.

    :ivar online: the online pCPUs
    :ivar shared: the pCPUs that Nova gives to unpinned servers
    :ivar dedicated: the pCPUs that Nova dedicates to servers
    :ivar reserved: the pCPUs that reservations may use
    """

    online: Collection[int]
    shared: Collection[int]
    dedicated: Collection[int]
    reserved: Collection[int]

    @property
    def spare(self) -> frozenset[int]:
        """The pCPUs that Nova shares but reservations may not use."""
        return frozenset(self.shared).difference(self.reserved)

    @property
    def not_dedicated(self) -> frozenset[int]:
        """The online pCPUs that Nova dedicates to no server."""
        return frozenset(self.online).difference(self.dedicated)


def cpus(spec: str | None, host: HostCPUs) -> frozenset[int]:
    """Returns the pCPUs for emulator, I/O and vhost threads.

    :param spec: the option ``emulator_cpus``
    :raises InvalidConfiguration: when the option contradicts the host
    """
    if not spec:
        return host.spare
    try:
        ids = frozenset(hardware.parse_cpu_spec(spec))
    except Exception as error:
        raise _invalid(spec, 'it is not a list of CPUs; write it like 0,32'
                       ) from error
    for rule in _broken(ids, host):
        raise _invalid(spec, rule)
    return ids


def _broken(ids: frozenset[int], host: HostCPUs) -> Iterator[str]:
    """Yields the rules that the pCPUs of the option break."""
    if not ids:
        yield 'it names no CPU; name one or remove the option'
    if offline := ids.difference(host.online):
        yield f'it names {_list(offline)}, not online'
    if reserved := ids.intersection(host.reserved):
        yield (f'reservations may use {_list(reserved)}; leave '
               f'{_list(reserved)} out of emulator_cpus, or out of rt_cpus')
    if dedicated := ids.intersection(host.dedicated):
        yield (f'Nova dedicates {_list(dedicated)} to servers ([compute] '
               f'cpu_dedicated_set); leave {_list(dedicated)} out of '
               f'emulator_cpus')


def _list(ids: Collection[int]) -> str:
    return words.ids(sorted(ids), 'CPU')


def _invalid(spec: str, rule: str) -> exception.InvalidConfiguration:
    return exception.InvalidConfiguration(
        option=_OPTION, value=spec, rule=rule)
