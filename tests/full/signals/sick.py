# SPDX-License-Identifier: Apache-2.0

"""Servers for which an alert must fire, and the groups with budgets."""

from collections.abc import Callable, Iterator
import contextlib
import functools
import os
import pathlib
import time

from benchmarks import stand_ins
from rt_monitor import servers
from rt_monitor import snapshot
from tests.full.signals import stage as signals_stage

_PERIOD_US, _RUNTIME_US, _LITTLE_US = 100_000, 60_000, 10_000
#: A period that is shorter than the slices of other tasks.
_SHORT_US = 2_000
_PRIORITY = 10
_SECONDS = 5
_BUSY = ('sh', '-c', 'while :; do :; done')
#: More peers than a server has places for.
_PEERS = 80
#: More servers than the monitor shows.
_MANY = 300
#: A number that no group has.
_FIRST = 1 << 40
_SERVER = '''
import socket, sys
with socket.create_server(('127.0.0.1', int(sys.argv[1]))) as listener:
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(connection.recv(100))
'''
_CLIENT = '''
import socket, sys
for number in range(2, int(sys.argv[2]) + 2):
    with socket.create_connection(('127.0.0.1', int(sys.argv[1])), 9,
                                  (f'127.0.2.{number}', 0)) as connection:
        connection.sendall(b'asked')
        connection.recv(100)
'''
Reading = Callable[[], str]
Sick = tuple[str, frozenset[str], Reading, Callable[[], None]]


@contextlib.contextmanager
def reserved(stage: signals_stage.Stage) -> Iterator[None]:
    """Gives the group of the server a budget, which the monitor knows."""
    group = stage.groups['server']
    for path in (group.parent, group):
        _give(path, _RUNTIME_US)
    _watch(stage, servers.Granted(_RUNTIME_US, _PERIOD_US, of_group=True))
    yield


def _give(group: pathlib.Path, runtime_us: int) -> None:
    (group / 'cpu.rt_period_us').write_text(str(_PERIOD_US))
    (group / 'cpu.rt_runtime_us').write_text(str(runtime_us))


def _watch(stage: signals_stage.Stage, granted: servers.Granted,
           others: int = 0) -> None:
    stage.monitor.watch([
        *(stand_ins.server(name, group,
                           granted if name == 'server' else None)
          for name, group in stage.groups.items()),
        *(servers.Watched(f'other{number}', {servers.WHOLE: _FIRST + number})
          for number in range(1, others + 1))])


def make_real_time(group: pathlib.Path) -> None:
    """Lets all threads of a group run by its budget."""
    for thread in (group / 'tasks').read_text().split():
        with contextlib.suppress(ProcessLookupError):
            os.sched_setscheduler(int(thread), os.SCHED_RR,
                                  os.sched_param(_PRIORITY))


def cases(stage: signals_stage.Stage,
          read: Callable[[snapshot.Monitor], str]) -> Iterator[Sick]:
    """Yields a name, the alerts, a function that reads, and what is done."""
    reading = functools.partial(read, stage.monitor)
    wait = functools.partial(time.sleep, _SECONDS)
    group = stage.groups['server']
    with stand_ins.running(group, *_BUSY, cpu=1):
        _give(group, _LITTLE_US)
        make_real_time(group)
        yield ('a server whose budget runs out',
               frozenset({'ServerOutOfBudget'}), reading, wait)
    _give(group, _RUNTIME_US)
    _watch(stage, servers.Granted(_SHORT_US // 2, _SHORT_US, of_group=True))
    with contextlib.ExitStack() as stack:
        for each in (group, *[stage.groups['middle']] * 3):
            stack.enter_context(stand_ins.running(each, *_BUSY, cpu=1))
        yield ('a server whose tasks have no real-time policy', frozenset({
            'ServerLosesTime', 'ServerWaitsLongerThanItsPeriod'}),
            reading, wait)
    _watch(stage, servers.Granted(_RUNTIME_US, _PERIOD_US, of_group=True))
    yield from _network_cases(stage, reading)
    yield from _monitor_cases(stage, reading, wait)


def _network_cases(stage: signals_stage.Stage, reading: Reading
                   ) -> Iterator[Sick]:
    port = signals_stage.free_port()
    with stage.serving(port, 'python3', stage.file('peers.py', _SERVER),
                       str(port)):
        client = stage.file('asks.py', _CLIENT)
        yield ('a server with many peers',
               frozenset({'ServerHasPeersBeyond'}), reading,
               lambda: _ended(stage.run('python3', client, str(port),
                                        str(_PEERS), group='middle')))


def _ended(_: str) -> None:
    time.sleep(1)  # Connections end after their clients.


def _monitor_cases(stage: signals_stage.Stage, reading: Reading,
                   wait: Callable[[], None]) -> Iterator[Sick]:
    _watch(stage, servers.Granted(_RUNTIME_US, _PERIOD_US, of_group=True),
           others=_MANY)
    yield ('more servers than the monitor shows',
           frozenset({'MonitorServersBeyond'}), reading, wait)
    _watch(stage, servers.Granted(_RUNTIME_US, _PERIOD_US, of_group=True))
    yield ('a monitor without a source', frozenset({'MonitorSourceOff'}),
           lambda: _without(reading(), 'tcp'), wait)


def _without(text: str, source: str) -> str:
    """Returns metrics in which a source is off."""
    return text.replace(f'source="{source}",state="on",reason=""',
                        f'source="{source}",state="off",reason="test"')
