# SPDX-License-Identifier: Apache-2.0

"""Starts, finds and ends the processes of the cloud.

A process is identified by its pid *and* its start time.  So no other process
gets a signal after the kernel has used the pid again.  The module does not
know what the processes do.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence

import psutil

PROC = pathlib.Path('/proc')


class Process:
    """One recorded process; its file holds pid and start time."""

    def __init__(self, record: pathlib.Path) -> None:
        self.record = record

    @property
    def name(self) -> str:
        """Returns the name of the process."""
        return self.record.stem

    @property
    def pid(self) -> int | None:
        """Returns the pid while the process runs."""
        try:
            pid, started = self.record.read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        return int(pid) if start_time(int(pid)) == started else None

    def session(self) -> list[int]:
        """Returns the processes of the session, even if its leader has ended.

        Some programs overwrite the environment that would identify them.
        """
        try:
            pid, started = self.record.read_text().split()
        except (FileNotFoundError, ValueError):
            return []
        if start_time(int(pid)) not in (None, started):
            return []  # The kernel has given the pid to another process.
        return [other for other in psutil.pids()
                if _session(other) == int(pid)]

    def start(self, command: Sequence[str], environment: Mapping[str, str],
              log: pathlib.Path) -> None:
        """Starts the process in a session of its own, and records it."""
        with log.open('ab') as output:
            child = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True)
        self.adopt(child.pid)

    def adopt(self, pid: int) -> None:
        """Records a process that runs already."""
        self.record.write_text(f'{pid} {start_time(pid)}\n')


def start_time(pid: int) -> str | None:
    """Returns the clock ticks from boot to the start; None without a process.

    The method does not use psutil's create_time(), which depends on the wall
    clock.  The wall clock may be changed, but a record must stay valid for the
    life of a cloud.
    """
    try:
        text = (PROC / str(pid) / 'stat').read_text(errors='replace')
    except OSError:
        return None
    # The fields after the command, which may contain blanks and brackets.
    fields = text.rpartition(')')[2].split()
    return None if fields[0] in 'ZX' else fields[19]


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def reap() -> None:
    """Collects the exit codes of our own children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def end(processes: Iterable[Process], patience: float) -> None:
    """Sends SIGTERM, and SIGKILL after *patience* seconds."""
    ending = list(processes)
    _signal(ending, signal.SIGTERM)
    if not _wait_gone(ending, patience):
        _signal(ending, signal.SIGKILL)
        _wait_gone(ending, patience)
    for process in ending:
        process.record.unlink(missing_ok=True)


def end_sessions(processes: Iterable[Process], patience: float) -> None:
    """Ends processes, then kills workers and helpers that still run."""
    ending = list(processes)
    members = {pid: start_time(pid)
               for process in ending for pid in process.session()}
    end(ending, patience)
    kill(pid for pid, started in members.items()
         if started and start_time(pid) == started)


def _signal(processes: Iterable[Process], number: signal.Signals) -> None:
    for process in processes:
        if (pid := process.pid) is not None:
            os.kill(pid, number)


def _wait_gone(processes: Iterable[Process], patience: float) -> bool:
    deadline = time.monotonic() + patience
    while any(process.pid for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
        reap()
    return True


def variable(pid: int, name: str) -> str | None:
    """Returns a variable of the environment that a process started with."""
    try:
        value: str | None = psutil.Process(pid).environ().get(name)
    except psutil.Error:
        return None
    return value


def marked(name: str, value: str) -> list[int]:
    """Returns the pids of all processes with this environment variable."""
    return [pid for pid in psutil.pids() if variable(pid, name) == value]


def memory_kib(pid: int) -> int:
    """Returns the memory of a process; shared pages count in part (PSS)."""
    try:
        return int(psutil.Process(pid).memory_full_info().pss) // 1024
    except psutil.Error:
        return 0


def kill_marked(name: str, value: str) -> None:
    """Kills leftover processes, such as helpers of a service that crashed."""
    kill(marked(name, value))


def kill(pids: Iterable[int]) -> None:
    """Sends SIGKILL to processes."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
