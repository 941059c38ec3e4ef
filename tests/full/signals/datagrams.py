# SPDX-License-Identifier: Apache-2.0

"""Servers over UDP: DNS and SIP, in a network namespace like a guest."""

from collections.abc import Iterator
import contextlib
import csv
import pathlib
import re
import subprocess
import time

from benchmarks import taps
from rt_monitor import tap
from tests.full.signals import compare
from tests.full.signals import stage as signals_stage

_DNS, _SIP = 5300, 5060
_SECONDS = 30
#: The output of dnsperf for datagrams in both directions, and their bytes.
_SENT = re.compile(r'Queries sent: +(\d+)')
_ANSWERED = re.compile(r'Queries completed: +(\d+)')
_SIZES = re.compile(r'request (\d+), response (\d+)')
#: The end of the columns of sipp for messages that were sent again.
_AGAIN = 'Retrans'


def of_dnsmasq(stage: signals_stage.Stage, count: int
               ) -> Iterator[compare.Counted]:
    """Yields a line."""
    with (taps.namespace() as inside,
          contextlib.closing(taps.Watched()) as watched,
          _server(stage, inside, _DNS, 'dnsmasq', '--no-daemon',
                  '--no-resolv', '--no-hosts', '--conf-file=/dev/null',
                  '--address=/x.example/192.0.2.1', '--user=root',
                  '--port', str(_DNS), '--listen-address', str(taps.THERE),
                  '--bind-interfaces')):
        before = _datagrams(watched)
        truth = _ask(stage, count)
        yield compare.Counted('dnsmasq', 'DNS over UDP', truth,
                              _datagrams(watched).since(before))


def of_sipp(stage: signals_stage.Stage, count: int
            ) -> Iterator[compare.Counted]:
    """Yields a line."""
    with (taps.namespace() as inside,
          contextlib.closing(taps.Watched()) as watched,
          _server(stage, inside, _SIP, 'sipp', '-sn', 'uas', '-i',
                  str(taps.THERE), '-p', str(_SIP), '-nostdin')):
        before = _datagrams(watched)
        truth = _call(stage, count // 10)
        yield compare.Counted('sipp', 'SIP over UDP', truth,
                              _datagrams(watched).since(before))


def _datagrams(watched: taps.Watched) -> tap.Datagrams:
    return watched.source.datagrams(watched.register)[taps.UUID]


@contextlib.contextmanager
def _server(stage: signals_stage.Stage, inside: int, port: int, name: str,
            *words: str) -> Iterator[None]:
    """Runs a server in a network namespace; waits for its port."""
    with open(stage.folder / 'log', 'ab') as log, subprocess.Popen(
            ['nsenter', '-t', str(inside), '-n', stage.packages.path(name),
             *words], env=stage.packages.environment, stdout=log, stderr=log,
            stdin=subprocess.DEVNULL, cwd=stage.folder) as child:
        try:
            end = time.monotonic() + _SECONDS
            table = pathlib.Path(f'/proc/{inside}/net/udp')
            while f':{port:04X} ' not in table.read_text():
                if child.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(
                        (stage.folder / 'log').read_text()[-2000:])
                time.sleep(0.02)
            yield
        finally:
            child.kill()


def _ask(stage: signals_stage.Stage, count: int) -> compare.Passed:
    """Asks by dnsperf; returns what it says of its datagrams."""
    path = stage.file('questions', 'x.example A\n')
    told = stage.run(stage.packages.path('dnsperf'), '-s', str(taps.THERE),
                     '-p', str(_DNS), '-d', path, '-n', str(count), '-Q',
                     '2000', '-c', '4')
    sent, answered, sizes = (
        pattern.search(told) for pattern in (_SENT, _ANSWERED, _SIZES))
    if not sent or not answered or not sizes:
        raise ValueError(f'dnsperf printed: {told}')
    asks, answers = int(sent[1]), int(answered[1])
    return compare.Passed(asks, answers, asks * int(sizes[1]),
                          answers * int(sizes[2]))


def _call(stage: signals_stage.Stage, calls: int) -> compare.Passed:
    """Calls by sipp; returns what it says of its datagrams."""
    stage.run('sh', '-c', 'cd "$1"; shift; exec "$@" > sipp.log 2>&1', 'sh',
              str(stage.folder), stage.packages.path('sipp'), '-sn', 'uac',
              '-i', str(taps.HERE), str(taps.THERE), '-m', str(calls), '-r',
              '100', '-d', '0', '-nostdin', '-trace_counts', '-fd', '1')
    path, = stage.folder.glob('uac_*_counts.csv')
    with path.open(newline='') as file:
        *_, last = csv.DictReader(file, delimiter=';')
    kinds = [name.removesuffix('_Sent') for name in last
             if name and name.endswith('_Sent')]
    sent = sum(int(last[f'{kind}{end}']) for kind in kinds
               for end in ('_Sent', f'_{_AGAIN}'))
    received = sum(
        int(value) for name, value in last.items()
        if name and isinstance(value, str) and (
            name.endswith('_Recv') or (name.endswith(_AGAIN) and
                                       name.removesuffix(f'_{_AGAIN}')
                                       not in kinds)))
    return compare.Passed(sent, received)
