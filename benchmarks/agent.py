# SPDX-License-Identifier: Apache-2.0

"""Measures the CPU time, the memory and the leaks of nova-rt-monitor.

usage: .venv/bin/python -m benchmarks.agent [servers]

The service watches 200 groups with one process each, and is scraped every
15 s.  The process has a name like QEMU's and has sent and answered requests
over TCP, so that all its metrics exist.  The service, with the process that
finds servers, may use 0.5 % of a CPU and 60 MB of resident memory.  The median
of 20 more answers must be within 50 ms; the output also has the CPU time of
the answers, because in the remaining time the service waits for a CPU and for
the reader.

Then 10,000 servers start, use CPU time and a TCP connection, and end.
Afterwards the memory of maps, the resident memory and the descriptors must be
the same as after the first tenth of these servers.  Needs root and cgroup v1;
exits with 1 if a requirement is missed.
"""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from unittest import mock
from urllib import error
from urllib import request

from benchmarks import stand_ins
from nova_rt.machine.host import cgroup
from rt_monitor import service
from rt_monitor import snapshot as monitor_snapshot

GUESTS, SCRAPES, INTERVAL_S = 200, 4, 15
CPU, MEMORY_MB, SCRAPE_S = 0.005, 60, 0.050
ANSWERS = 20
MANY, AT_ONCE = 10_000, 100
#: The limit of resident memory, in MB.
FLAT_MB = 2
_SECONDS = 60
#: The CPU time of a task is complete after the task's last switch, which can
#: be after its parent has waited for it: the number of attempts to read it.
_READINGS, _READ_AGAIN_SECONDS = 5, 0.02
#: A process that wakes up now and then.
_GUEST = 'while :; do sleep 5; done'


@contextlib.contextmanager
def guests(names: list[str]) -> Iterator[list[pathlib.Path]]:
    """Runs a process in each group, as if it were a virtual machine.

    Yields the groups.
    """
    with (tempfile.TemporaryDirectory() as folder,
          stand_ins.groups(*names) as groups,
          contextlib.ExitStack() as stack):
        program = shutil.copy('/bin/sh', f'{folder}/qemu-system-x86_64')
        for group in groups.values():
            child = subprocess.Popen(  # noqa: PLW1509
                [program, '-c', _GUEST], start_new_session=True,
                preexec_fn=stand_ins.joining(group))
            stack.callback(_empty, group)
            stack.callback(child.wait)
            stack.callback(os.killpg, child.pid, signal.SIGKILL)
        yield [*groups.values()]


def _empty(group: pathlib.Path) -> None:
    """Waits until the last process of a group is gone."""
    end = time.monotonic() + _SECONDS
    while (group / 'cgroup.procs').read_text() and time.monotonic() < end:
        time.sleep(0.01)


def _serve(port: int) -> int:
    """Starts a service that treats our groups as groups of libvirt."""
    child = os.fork()
    if child:
        return child
    with mock.patch.object(cgroup, 'GUEST_GROUPS', (
            f'/{stand_ins.TOP.name}',)):
        os._exit(service.run(service.ServiceOptions(port=port)))


def _scrape(port: int) -> tuple[str, float]:
    """Returns the service's answer, and how long the answer took in s."""
    opener = request.build_opener(request.ProxyHandler({}))
    begun = time.monotonic()
    with opener.open(f'http://127.0.0.1:{port}{service.PATH}') as answer:
        return answer.read().decode(), time.monotonic() - begun


def _wait_for(port: int) -> None:
    """Waits until the service watches all guests."""
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(error.URLError):
            if f'nova_rt_monitor_servers {GUESTS}\n' in _scrape(port)[0]:
                return
        time.sleep(0.2)
    raise SystemExit('the service never saw all groups')


def _family(pid: int) -> list[int]:
    children = pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text()
    return [pid, *map(int, children.split())]


def _cpu_s(pids: list[int]) -> float:
    """Returns CPU time by the clocks that clock_getcpuclockid(3) describes."""
    return sum(time.clock_gettime(~pid << 3 | 2) for pid in pids)


def resident_mb(pid: int) -> float:
    """Returns the resident memory; shared pages count in part."""
    lines = pathlib.Path(f'/proc/{pid}/smaps_rollup').read_text()
    [pss] = [line for line in lines.splitlines() if line.startswith('Pss:')]
    return int(pss.split()[1]) / 1024


def _answers(port: int, pids: list[int]) -> bool:
    """Returns whether the median of some answers is in time."""
    ms, used = [], []
    for _ in range(ANSWERS):
        before = _cpu_s(pids)
        text, seconds = _scrape(port)
        ms.append(1000 * seconds)
        used.append(1000 * (_cpu_s(pids) - before))
    print(f'answers of {len(text) / 1e6:.1f} MB in {min(ms):.0f}, median '
          f'{statistics.median(ms):.0f} ms (at most {1000 * SCRAPE_S:.0f}), '
          f'at most {max(ms):.0f}; of CPU time {min(used):.0f}, median '
          f'{statistics.median(used):.0f} ms', flush=True)
    return statistics.median(ms) <= 1000 * SCRAPE_S


def _within_limits(port: int, pids: list[int]) -> bool:
    """Returns whether scrapes stay within the limits of CPU and memory."""
    before, begun = _cpu_s(pids), time.monotonic()
    for _ in range(SCRAPES):
        _scrape(port)
        time.sleep(INTERVAL_S)
    part = (_cpu_s(pids) - before) / (time.monotonic() - begun)
    memory = sum(map(resident_mb, pids))
    print(f'{GUESTS} servers: {part:.2%} of a CPU (at most {CPU:.1%}), '
          f'{memory:.0f} MB (at most {MEMORY_MB})', flush=True)
    return part <= CPU and memory <= MEMORY_MB


def agent() -> bool:
    """Measures the service; returns whether it keeps its limits."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    with guests([f'qemu-{number}' for number in range(GUESTS)]) as groups:
        pid = _serve(port)
        try:
            _wait_for(port)
            for child in [_live_in(group) for group in groups]:
                os.waitpid(child, 0)
            pids = _family(pid)
            return all([_within_limits(port, pids), _answers(port, pids)])
        finally:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)


def _short_life() -> None:
    """Runs a task of a server: some CPU time and a connection."""
    with socket.create_server(('127.0.0.1', 0)) as listener, (
            socket.create_connection(listener.getsockname())) as client:
        server, _ = listener.accept()
        client.sendall(b'x')
        server.recv(1)
        server.sendall(b'x')
        client.recv(1)


def _live_in(group: pathlib.Path) -> int:
    """Starts a process with a short life in a group."""
    child = os.fork()
    if not child:
        stand_ins.joining(group)()
        _short_life()
        os._exit(0)
    return child


def generation(monitor: monitor_snapshot.Monitor, names: list[str]) -> int:
    """Starts and ends servers; returns how many of them the service saw."""
    with stand_ins.groups(*names) as groups:
        monitor.watch(stand_ins.server(name, group)
                      for name, group in groups.items())
        for child in [_live_in(group) for group in groups.values()]:
            os.waitpid(child, 0)
        for _ in range(_READINGS):
            seen = _seen(monitor.read(), names)
            if seen == len(names):
                break
            time.sleep(_READ_AGAIN_SECONDS)
        monitor.watch([])
    return seen


def _seen(window: monitor_snapshot.Snapshot, names: list[str]) -> int:
    """Returns how many servers answered and have CPU time."""
    return sum(1 for name in names if window.answered[name].edges
               and window.usages[name].whole.totals.ran)


def map_bytes() -> int:
    """Returns the bytes of the maps that this process holds."""
    total = 0
    for link in pathlib.Path('/proc/self/fdinfo').iterdir():
        with contextlib.suppress(OSError):  # the descriptor of this list
            lines = dict(line.split(':', 1) for line in
                         link.read_text().splitlines() if ':' in line)
            total += int(lines.get('memlock', 0)) if 'map_type' in lines else 0
    return total


def soak(count: int) -> bool:
    """Starts and ends many servers; returns whether nothing leaks."""
    rows, answered = [], 0
    with stand_ins.monitor() as monitor:
        for first in range(0, count, AT_ONCE):
            answered += generation(monitor, [
                f'{first + number}' for number in range(AT_ONCE)])
            rows.append((map_bytes(), resident_mb(os.getpid()),
                         len(os.listdir('/proc/self/fd'))))
    settled = rows[len(rows) // 10]
    print(f'{answered} of {count} servers that came and went were seen to '
          f'answer: maps {settled[0] / 1e6:.1f} to {rows[-1][0] / 1e6:.1f} '
          f'MB, resident {settled[1]:.1f} to {rows[-1][1]:.1f} MB, '
          f'descriptors {settled[2]} to {rows[-1][2]}')
    return (answered == count and rows[-1][0] <= settled[0]
            and rows[-1][1] <= settled[1] + FLAT_MB
            and rows[-1][2] <= settled[2])


def main() -> int:
    """Runs both tests and returns the exit status."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else MANY
    return 0 if all([agent(), soak(count)]) else 1


if __name__ == '__main__':
    sys.exit(main())
