# SPDX-License-Identifier: Apache-2.0

"""Takes snapshots of all servers of this host, with all available sources."""

from collections.abc import Iterable, Iterator, Mapping
import dataclasses
import time
from typing import Protocol, Self, TypeVar

from nova_rt.machine.host import files as host_files
from nova_rt.rules import exception
from rt_monitor import budgets
from rt_monitor import counters
from rt_monitor import http
from rt_monitor import objects
from rt_monitor import paths
from rt_monitor import power
from rt_monitor import rapl
from rt_monitor import sched
from rt_monitor import servers as monitor_servers
from rt_monitor import tap
from rt_monitor import transactions
from rt_monitor import waits


class _Summed(Protocol):
    """Counts that the programs add up."""

    def since(self, before: Self) -> Self:
        """Returns the counts since an earlier snapshot."""


_Kind = TypeVar('_Kind', bound=objects.ProgramSource)
_Sum = TypeVar('_Sum', bound=_Summed)


@dataclasses.dataclass(frozen=True, slots=True)
class SourceState:
    """A source of numbers.

    :ivar reason: why the source is off; '' if it is on
    """

    name: str
    reason: str = ''

    @property
    def state(self) -> str:
        """``on`` or ``off``."""
        return 'off' if self.reason else 'on'


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """The counts of all servers, since the start or since an earlier snapshot.

    :ivar at_s: the time of the snapshot by the monotonic clock
    :ivar span_s: the time over which the counts are summed
    :ivar usages: scheduling by UUID, and under ``other`` that of all servers
        beyond the bounds
    :ivar beyond: the number of servers beyond the bounds
    :ivar begun: a number by UUID, which changes whenever the counts of the
        server start again, for example because its vCPUs change
    :ivar missed_switches: switches of tasks for which the kernel sent no event
    :ivar answered: transactions by UUID
    :ivar network: the numbers of connections and transactions, of
        all servers; None without the sources of transactions
    :ivar datagrams: datagrams of servers with network interfaces, by UUID
    :ivar energy_uj: energy by UUID, power.HOST and power.IDLE; empty without
        meters
    :ivar counted: counters by the same keys and by CPU, always since the
        start; empty without counters
    :ivar requests: requests of HTTP, by UUID; empty unless they are enabled
    :ivar failed_pushes: the number of failed pushes; None if metrics are
        not pushed
    :ivar group_budgets: whether the programs see when the budget of a group
        runs out
    :ivar missed_runs: by source, the events that the kernel did not give to
        the programs; each event may be missing in the counts of any server
    """

    at_s: float
    span_s: float
    sources: tuple[SourceState, ...]
    servers: Mapping[str, monitor_servers.Watched]
    usages: Mapping[str, sched.ServerUsage] = dataclasses.field(
        default_factory=dict)
    beyond: int = 0
    missed_switches: int = 0
    answered: Mapping[str, transactions.ServerTransactions] = (
        dataclasses.field(default_factory=dict))
    network: transactions.TransactionStats | None = None
    datagrams: Mapping[str, tap.Datagrams] = dataclasses.field(
        default_factory=dict)
    energy_uj: Mapping[str, int] = dataclasses.field(default_factory=dict)
    counted: Mapping[str, Mapping[int, counters.Work]] = dataclasses.field(
        default_factory=dict)
    requests: Mapping[str, http.ServerRequests] = dataclasses.field(
        default_factory=dict)
    failed_pushes: int | None = None
    begun: Mapping[str, int] = dataclasses.field(default_factory=dict)
    group_budgets: bool = True
    missed_runs: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def shows_budget(self, uuid: str) -> bool:
        """Returns whether it is known when a server had budget.

        :param uuid: the UUID of a server, or ``other``
        """
        return self.group_budgets or not any(map(
            monitor_servers.has_group_budget, (
                [self.servers[uuid]] if uuid in self.servers
                else self.servers.values())))

    @property
    def method(self) -> str:
        """The measure of work by which energy is divided among servers."""
        return 'cycles' if self.counted else 'cpu_time'

    def missed_traffic(self, uuids: Iterable[str]) -> int:
        """Returns how many events of connections servers may lack.

        The traffic of virtual machines passes programs at their network
        interfaces, which the kernel always runs.
        """
        if not any(self.servers[uuid].sockets for uuid in uuids
                   if uuid in self.servers):
            return 0
        return self.missed_runs.get(transactions.Transactions.name, 0)

    def since(self, before: 'Snapshot') -> 'Snapshot':
        """Returns the counts since an earlier snapshot."""
        return dataclasses.replace(
            self, span_s=self.at_s - before.at_s,
            missed_switches=self.missed_switches - before.missed_switches,
            missed_runs={name: count - before.missed_runs.get(name, 0)
                         for name, count in self.missed_runs.items()},
            usages=self._after(before, self.usages, before.usages),
            answered=self._after(before, self.answered, before.answered),
            datagrams=self._after(before, self.datagrams, before.datagrams),
            requests=self._after(before, self.requests, before.requests),
            energy_uj={name: energy - before.energy_uj.get(name, 0)
                       for name, energy in self.energy_uj.items()})

    def _after(self, before: 'Snapshot', now: Mapping[str, _Sum],
               then: Mapping[str, _Sum]) -> dict[str, _Sum]:
        """Returns the counts since an earlier snapshot or their restart."""
        return {uuid: counts.since(then[uuid])
                if uuid in then
                and self.begun.get(uuid) == before.begun.get(uuid) else counts
                for uuid, counts in now.items()}


class Monitor:
    """All sources of this host; a source that is off says why."""

    def __init__(self, with_http: bool = False) -> None:
        """Loads and attaches all available sources.

        :param with_http: whether to read requests of HTTP/1, which are
            tenants' data
        """
        self._begun_s = time.monotonic()
        self._register = monitor_servers.Register()
        self._scheduler, scheduler = _start(sched.Scheduler)
        self._network, network = _start(transactions.Transactions)
        self._taps, taps = _start(tap.Taps)
        self._paths: paths.Paths | None = None
        requests: SourceState | None = None
        if with_http:
            self._paths, requests = _start(paths.Paths)
        self._attachers = [*self._attach()]
        self._counters, counted = _start(counters.Counters)
        self._power, energy = _start_power()
        self._sees = bool(self._scheduler and self._scheduler.sees_budgets())
        shown = SourceState(budgets.NAME, scheduler.reason or (
            '' if self._sees else budgets.why_not(host_files.Host())))
        self.sources = (scheduler, shown, network, taps, counted, energy,
                        *([requests] if requests else []))

    def _attach(self) -> Iterator[tap.Attacher]:
        if self._taps:
            yield tap.Attacher(self._taps)
        if self._paths:
            yield tap.Attacher(self._paths, paths.is_read)

    def watch(self, servers: Iterable[monitor_servers.Watched]) -> None:
        """Watches these servers, and no others."""
        change = self._register.update(servers)
        for source in (self._scheduler, self._network, self._taps,
                       self._paths, self._counters):
            if source:
                source.apply(change)
        for pointed in (self._taps, self._paths):
            if pointed:
                pointed.point(self._register)

    def follow(self, servers: Iterable[monitor_servers.Watched]) -> None:
        """Attaches to the network interfaces of these servers only.

        This method may be called in a child process, which has inherited all
        that attaching needs.
        """
        running = [*servers]
        for attacher in self._attachers:
            attacher.follow(running)

    def read(self, with_edges: bool = True) -> Snapshot:
        """Reads all sources and returns the counts since the start.

        :param with_edges: whether to read what passed between a server and
            each of its peers, which no metric has
        """
        now, register = time.monotonic(), self._register
        result = Snapshot(now, now - self._begun_s, self.sources,
                          dict(register.servers), beyond=register.beyond,
                          begun=dict(register.begun), group_budgets=self._sees,
                          missed_runs=self._missed_runs())
        if self._counters:
            result = dataclasses.replace(
                result, counted=self._counters.read(register))
        if self._scheduler:
            result = dataclasses.replace(
                result, usages=self._scheduler.read(register),
                missed_switches=self._scheduler.missed_switches())
            if self._power:
                energy_uj = self._power.read(
                    result.span_s, _work(result, self._scheduler.host()))
                result = dataclasses.replace(result, energy_uj=energy_uj)
        if self._taps:
            result = dataclasses.replace(
                result, datagrams=self._taps.datagrams(register))
        if self._paths:
            result = dataclasses.replace(
                result, requests=self._paths.read(register))
        for source in (self._network, self._taps):
            if source:
                result = _with_network(
                    result, source.read(register, with_edges))
        return result

    def _missed_runs(self) -> dict[str, int]:
        """Returns the numbers of the sources whose programs miss events."""
        return {source.name: source.missed_runs() for source in (
            self._scheduler, self._network, self._counters) if source}

    def close(self) -> None:
        """Removes all programs from the kernel."""
        self.follow([])
        for source in (self._scheduler, self._network, self._taps,
                       self._paths, self._counters, self._power):
            if source:
                source.close()
        self._scheduler = self._network = self._taps = self._paths = None
        self._counters = self._power = None
        self._attachers = []


def _work(snapshot: Snapshot, host: Mapping[int, waits.Counts]
          ) -> dict[str, dict[int, float]]:
    """Returns the work of servers and host on each CPU, by name.

    Work is counted in weighted cycles or, without counters, in s of CPU time.
    """
    if snapshot.counted:
        return {name: {cpu: work.weighted for cpu, work in by_cpu.items()}
                for name, by_cpu in snapshot.counted.items()}
    everybody = {**{uuid: usage.whole.cpus
                    for uuid, usage in snapshot.usages.items()},
                 power.HOST: host}
    return {name: {cpu: counts.ran / 1e9 for cpu, counts in cpus.items()}
            for name, cpus in everybody.items()}


def _with_network(snapshot: Snapshot,
                  answered: Mapping[str, transactions.ServerTransactions]
                  ) -> Snapshot:
    """Adds the transactions of one more source to a snapshot."""
    before = snapshot.answered
    return dataclasses.replace(
        snapshot,
        network=sum((traffic.stats for traffic in answered.values()),
                    snapshot.network or transactions.TransactionStats()),
        answered={**before, **{
            uuid: before[uuid] + traffic if uuid in before else traffic
            for uuid, traffic in answered.items()}})


def _start(kind: type[_Kind]) -> tuple[_Kind | None, SourceState]:
    """Starts a source; returns None and the reason if it is off."""
    try:
        return kind(), SourceState(kind.name)
    except exception.CannotMonitor as error:
        return None, SourceState(kind.name, error.kwargs['reason'])


def _start_power() -> tuple[rapl.Power | None, SourceState]:
    try:
        return rapl.Power(host_files.Host()), SourceState(rapl.Power.name)
    except exception.CannotMonitor as error:
        return None, SourceState(rapl.Power.name, error.kwargs['reason'])
