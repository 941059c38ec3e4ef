# SPDX-License-Identifier: Apache-2.0

"""Runs Debian's Kamailio and MariaDB with separate data."""

from collections.abc import Callable, Iterable, Iterator
import contextlib
import pathlib
import string
import subprocess
import tempfile
import time

from paper import rtwalk

ADDRESS, PORT, DATABASE_PORT = '127.0.0.1', 7060, 7061
#: The account that SIPp registers.
USER, PASSWORD = 'user', 'secret'  # noqa: S105
ACCOUNT = ('insert into subscriber (username, domain, password) '  # noqa: S608
           f"values ('{USER}', '{ADDRESS}', '{PASSWORD}');")
CONFIGURATION = pathlib.Path(__file__).with_name('kamailio.cfg')
TABLES = [pathlib.Path('/usr/share/kamailio/mysql', f'{name}-create.sql')
          for name in ('standard', 'auth_db')]
_PATIENCE_S = 60
_NS_PER_US = 1000
#: From linux/posix-timers.h: the CPU clock of all threads, exact to a ns.
_CPUCLOCK_SCHED = 2
_INTERVAL_S = 0.2


@contextlib.contextmanager
def running(cpu: int) -> Iterator[list[int]]:
    """Runs both on one CPU; yields the ids of their processes.

    :raises OSError, subprocess.CalledProcessError: when one is not installed
    :raises NotReady: when one of them does not start
    """
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory()))
        database = stack.enter_context(_started(
            cpu, *_mariadbd(directory), '--skip-grant-tables',
            f'--bind-address={ADDRESS}', f'--port={DATABASE_PORT}'))
        _wait(lambda: _ask(directory, '').returncode == 0, 'mariadbd')
        _ask(directory, '\n'.join((
            'create database kamailio;', 'use kamailio;',
            *(path.read_text() for path in TABLES), ACCOUNT)
        )).check_returncode()
        configuration = directory / 'kamailio.cfg'
        configuration.write_text(string.Template(
            CONFIGURATION.read_text()).substitute(
                address=ADDRESS, port=PORT, database_port=DATABASE_PORT))
        kamailio = stack.enter_context(_started(
            cpu, 'kamailio', '-DD', '-E', '-f', str(configuration), '-Y',
            str(directory)))
        _wait(lambda: len(_children(kamailio)) > 2, 'kamailio')
        yield [database, kamailio, *_children(kamailio)]


def busy_us(processes: Iterable[int]) -> float:
    """Returns the CPU time of the processes so far."""
    return sum(time.clock_gettime_ns(_cpu_clock(process)) / _NS_PER_US
               for process in processes)


def _cpu_clock(process: int) -> int:
    """Returns the clock like clock_getcpuclockid(3), which Python lacks."""
    return ~process << 3 | _CPUCLOCK_SCHED


def _mariadbd(directory: pathlib.Path) -> list[str]:
    """Makes an empty database; returns the command that serves it."""
    common = ['--no-defaults', '--user=root', f'--datadir={directory}/data']
    subprocess.run(
        ['mariadb-install-db', *common, '--skip-test-db'], check=True,
        stdout=subprocess.DEVNULL)
    return ['mariadbd', *common, f'--socket={directory}/socket',
            '--silent-startup', f'--log-error={directory}/log']


@contextlib.contextmanager
def _started(cpu: int, *command: str) -> Iterator[int]:
    with subprocess.Popen(
            ['taskset', '--cpu-list', str(cpu), *command],
            stdout=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.terminate()


def _ask(directory: pathlib.Path, statements: str
         ) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ['mariadb', '--no-defaults', f'--socket={directory}/socket'],
        input=statements, text=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if not statements else None)


def _children(process: int) -> list[int]:
    path = pathlib.Path(f'/proc/{process}/task/{process}/children')
    return [int(word) for word in path.read_text().split()]


def _wait(ready: Callable[[], bool], name: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not ready():
        if time.monotonic() > deadline:
            raise rtwalk.NotReady(name=name)
        time.sleep(_INTERVAL_S)
