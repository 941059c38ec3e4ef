# SPDX-License-Identifier: Apache-2.0

"""Aggregates servers of a project, flavor, VNF or host as if they were one.

Sums are added and histograms are merged bucket by bucket.  A quantile is
therefore the quantile of all times, not a mean of quantiles.
"""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import enum
import functools
from typing import TypeVar

from rt_monitor import http
from rt_monitor import sched
from rt_monitor import servers as monitor_servers
from rt_monitor import snapshot as monitor_snapshot
from rt_monitor import transactions

_Each = TypeVar('_Each')
#: The group of servers whose project, flavor or VNF is not known.
UNKNOWN = '-'
#: The period in which the reservation of a group is expressed, in us.
_PERIOD_US = 1_000_000


class By(enum.StrEnum):
    """The property by which servers are grouped."""

    PROJECT = 'project'
    FLAVOR = 'flavor'
    VNF = 'vnf'
    HOST = 'host'

    def group(self, server: monitor_servers.Watched | None) -> str:
        """Returns the group of a server; all servers are on one host."""
        if self is By.HOST:
            return self.value
        return (getattr(server, self.value) if server else '') or UNKNOWN


def aggregate(snapshot: monitor_snapshot.Snapshot, by: By
              ) -> monitor_snapshot.Snapshot:
    """Returns a snapshot in which each group stands for a server.

    Each vCPU of the result has the mean CPU time per second that is reserved
    for a vCPU of the group.  All vCPUs of the group together then have as much
    CPU time as the servers of the group together.  The name of a group ends
    with the number of its servers.
    """
    group_of = {uuid: by.group(snapshot.servers.get(uuid))
                for uuid in {**snapshot.servers, **snapshot.usages,
                             **snapshot.answered, **snapshot.requests}}
    return dataclasses.replace(
        snapshot, usages=_merged(snapshot.usages, group_of, _together),
        answered=_merged(snapshot.answered, group_of,
                         transactions.ServerTransactions.__add__),
        requests=_merged(snapshot.requests, group_of,
                         http.ServerRequests.__add__),
        servers={group: _group(group, [
            server for uuid, server in snapshot.servers.items()
            if group_of[uuid] == group])
            for group in {group_of[uuid] for uuid in snapshot.servers}})


def _merged(by_uuid: Mapping[str, _Each], group_of: Mapping[str, str],
            add: Callable[[_Each, _Each], _Each]) -> dict[str, _Each]:
    members: dict[str, list[_Each]] = {}
    for uuid, counted in by_uuid.items():
        members.setdefault(group_of[uuid], []).append(counted)
    return {group: functools.reduce(add, counted)
            for group, counted in members.items()}


def _together(one: sched.ServerUsage, other: sched.ServerUsage
              ) -> sched.ServerUsage:
    """Adds two servers; vCPUs get new numbers if both servers have vCPUs."""
    vcpus = [*one.vcpus.values(), *other.vcpus.values()]
    return sched.ServerUsage(
        one.whole + other.whole,
        dict(enumerate(vcpus)) if one.vcpus and other.vcpus else {})


def _group(name: str, members: Sequence[monitor_servers.Watched]
           ) -> monitor_servers.Watched:
    vcpus = sum(server.vcpus or 1 for server in members)
    cpus = sum(server.reserved_cpus or 0.0 for server in members)
    return monitor_servers.Watched(
        name, {}, vcpus, f'{name} ({len(members)})',
        reservation=monitor_servers.Granted(
            round(cpus / vcpus * _PERIOD_US), _PERIOD_US,
            any(map(monitor_servers.has_group_budget, members))
        ) if cpus else None,
        addresses=tuple(address for server in members
                        for address in server.addresses))
