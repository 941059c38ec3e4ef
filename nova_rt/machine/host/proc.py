# SPDX-License-Identifier: Apache-2.0

"""Reads the tasks of the host from /proc."""

from collections.abc import Iterator
import contextlib
import dataclasses
import os

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import sched

REAL_TIME = {os.SCHED_FIFO: 'FIFO', os.SCHED_RR: 'RR'}

_KTHREAD = 0x0020_0000
#: The words of uid_map in the first user namespace.
_ALL_IDS = ['0', '0', '4294967295']
_LIMIT = 'Max realtime priority'
#: The capabilities that can change scheduling, by their bits.
_CAPABILITIES = {23: 'sys_nice', 24: 'sys_resource'}
#: Fields of /proc/PID/stat, counted from the one after the name.
_PPID, _FLAGS, _PRIORITY, _POLICY = 1, 6, 37, 38


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """A thread."""

    pid: int
    thread: int
    parent: int
    comm: str
    kernel: bool
    policy: int
    priority: int

    @property
    def directory(self) -> str:
        """The directory of the thread in /proc."""
        return f'/proc/{self.pid}/task/{self.thread}'

    def __str__(self) -> str:
        kind = REAL_TIME.get(self.policy, '')
        suffix = f' {kind} {self.priority}' if kind else ''
        return f'{self.thread} {self.comm}{suffix}'


@dataclasses.dataclass(frozen=True, slots=True)
class TaskTable:
    """The tasks that a walk over /proc found.

    :ivar processes: the first thread of each process, by pid
    :ivar real_time: the SCHED_FIFO and SCHED_RR threads
    :ivar deadline: the SCHED_DEADLINE threads
    """

    processes: dict[int, Task]
    real_time: tuple[Task, ...]
    deadline: tuple[Task, ...]


def walk(host: host_files.Host) -> TaskTable:
    """Returns the tasks of the host, from one walk over /proc.

    :raises OSError: when a file cannot be read
    :raises ValueError: when a file does not have the expected fields
    """
    processes: dict[int, Task] = {}
    real_time, by_deadline = [], []
    for pid in map(int, filter(str.isdecimal, host.names('/proc'))):
        for task in _threads(host, pid):
            if task.thread == pid:
                processes[pid] = task
            if task.policy in REAL_TIME:
                real_time.append(task)
            elif task.policy == sched.SCHED_DEADLINE:
                by_deadline.append(task)
    return TaskTable(processes, tuple(real_time), tuple(by_deadline))


def by_deadline(host: host_files.Host) -> Iterator[Task]:
    """Yields the SCHED_DEADLINE threads of this machine.

    The policies are read by system calls first, which is much faster than
    :func:`walk`.
    """
    for pid in filter(str.isdecimal, host.names('/proc')):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for name in host.names(f'/proc/{pid}/task'):
                policy = os.sched_getscheduler(int(name))
                if policy & ~os.SCHED_RESET_ON_FORK == sched.SCHED_DEADLINE:
                    yield _parse(int(pid), int(name), host.data(
                        f'/proc/{pid}/task/{name}/stat'))


def task(host: host_files.Host, pid: int) -> Task:
    """Returns the first thread of a process.

    :raises OSError: when there is no such process
    :raises ValueError: when its file does not have the expected fields
    """
    return _parse(pid, pid, host.data(f'/proc/{pid}/task/{pid}/stat'))


def _threads(host: host_files.Host, pid: int) -> Iterator[Task]:
    directory = f'/proc/{pid}/task'
    try:
        for name in host.names(directory):
            data = host.data(f'{directory}/{name}/stat')
            yield _parse(pid, int(name), data)
    except (FileNotFoundError, ProcessLookupError):
        return  # The process has ended meanwhile.


def _parse(pid: int, thread: int, data: bytes) -> Task:
    # The name may have any characters, even blanks and brackets.
    head, _, tail = data.rpartition(b')')
    words = tail.split()
    try:
        return Task(
            pid, thread, int(words[_PPID]),
            head.partition(b'(')[2].decode(errors='replace'),
            bool(int(words[_FLAGS]) & _KTHREAD),
            int(words[_POLICY]), int(words[_PRIORITY]))
    except (IndexError, ValueError) as error:
        raise ValueError(f'/proc/{pid}/task/{thread}/stat reads '
                         f'{data[:40]!r}') from error


def group_of(host: host_files.Host, task: Task, controller: str) -> str:
    """Returns the group of a task in a hierarchy; '' if the task has ended."""
    try:
        text = host.read(f'{task.directory}/cgroup')
    except (FileNotFoundError, ProcessLookupError):
        return ''
    for line in text.splitlines():
        fields = line.split(':', 2)
        if len(fields) == 3 and controller in fields[1].split(','):
            return fields[2]
    return ''


def status(host: host_files.Host, task: Task) -> dict[str, str]:
    """Returns the lines of the status file of a task, by name.

    :raises FileNotFoundError, ProcessLookupError: when the task has ended
    """
    lines = host.read(f'{task.directory}/status').splitlines()
    pairs = (line.partition(':') for line in lines)
    return {name: value.strip() for name, _, value in pairs}


def capabilities(host: host_files.Host, task: Task) -> list[str]:
    """Returns the capabilities of a task that can change scheduling.

    :raises FileNotFoundError, ProcessLookupError: when the task has ended
    """
    bound = int(status(host, task)['CapBnd'], 16)
    return [name for bit, name in _CAPABILITIES.items() if bound >> bit & 1]


def in_user_namespace(host: host_files.Host, task: Task) -> bool:
    """Checks whether a task is in a user namespace of its own.

    The capabilities of such a task do not count on the host.

    :raises FileNotFoundError, ProcessLookupError: when the task has ended
    """
    return host.read(f'{task.directory}/uid_map').split() != _ALL_IDS


def priority_limit(host: host_files.Host, task: Task) -> int:
    """Returns the real-time priority that needs no capability.

    :raises FileNotFoundError, ProcessLookupError: when the task has ended
    """
    for line in host.read(f'{task.directory}/limits').splitlines():
        if line.startswith(_LIMIT):
            soft = line.removeprefix(_LIMIT).split()[0]
            return 99 if soft == 'unlimited' else int(soft)
    return 0
