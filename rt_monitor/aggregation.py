# SPDX-License-Identifier: Apache-2.0

"""Servers of one project, flavor, VNF or host together, as if they were one.

Sums are added and histograms merged bucket by bucket, so quantiles are those
of all times and no means of quantiles.
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import enum
import functools
from typing import TypeVar

from rt_monitor import http
from rt_monitor import look as monitor_look
from rt_monitor import sched
from rt_monitor import servers as monitor_servers
from rt_monitor import transactions

_Each = TypeVar('_Each')
#: What servers are called that nobody says the project, flavor or VNF of.
UNKNOWN = '-'
#: The period that the reservation of several is told in, in us.
_PERIOD_US = 1_000_000


class By(enum.StrEnum):
    """What servers are put together by."""

    PROJECT = 'project'
    FLAVOR = 'flavor'
    VNF = 'vnf'
    HOST = 'host'

    def of(self, server: monitor_servers.Server | None) -> str:
        """Its group; all of a look are on one host."""
        if self is By.HOST:
            return self.value
        return (getattr(server, self.value) if server else '') or UNKNOWN


def aggregate(look: monitor_look.Look, by: By) -> monitor_look.Look:
    """A look in which each group stands as a server.

    Its reservation is the mean of its vCPUs', as CPU time in each second, so
    that all of them together have what its servers have.  Its name ends with
    how many servers it has.
    """
    group_of = {uuid: by.of(look.servers.get(uuid))
                for uuid in {**look.servers, **look.seen, **look.answered,
                             **look.requests}}
    return dataclasses.replace(
        look, seen=_merged(look.seen, group_of, _together),
        answered=_merged(look.answered, group_of, transactions.Seen.__add__),
        requests=_merged(look.requests, group_of, http.Seen.__add__),
        servers={group: _group(group, [
            server for uuid, server in look.servers.items()
            if group_of[uuid] == group])
            for group in {group_of[uuid] for uuid in look.servers}})


def _merged(each: Mapping[str, _Each], group_of: Mapping[str, str],
            add: Callable[[_Each, _Each], _Each]) -> dict[str, _Each]:
    members: dict[str, list[_Each]] = {}
    for uuid, found in each.items():
        members.setdefault(group_of[uuid], []).append(found)
    return {group: functools.reduce(add, found)
            for group, found in members.items()}


def _together(one: sched.Seen, other: sched.Seen) -> sched.Seen:
    """Adds up servers, but not their vCPUs, which have nothing in common."""
    return sched.Seen(one.whole + other.whole, {})


def _group(name: str, members: Sequence[monitor_servers.Server]
           ) -> monitor_servers.Server:
    vcpus = sum(server.vcpus or 1 for server in members)
    cpus = sum(server.reserved_cpus or 0.0 for server in members)
    return monitor_servers.Server(
        name, {}, vcpus, f'{name} ({len(members)})',
        reservation=monitor_servers.Reservation(
            round(cpus / vcpus * _PERIOD_US), _PERIOD_US,
            any(map(monitor_servers.has_group_budget, members))
        ) if cpus else None,
        addresses=tuple(address for server in members
                        for address in server.addresses))
