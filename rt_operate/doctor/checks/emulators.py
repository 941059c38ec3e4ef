# SPDX-License-Identifier: Apache-2.0

"""Checks the threads of virtual machines that are not vCPUs."""

from collections.abc import Iterator
import dataclasses
import os
import posixpath
import re

from nova_rt.machine.host import guests as host_guests
from nova_rt.rules import cpulist
from nova_rt.rules import words
from rt_operate.doctor.checks import config
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_ID, _LIMIT = 'emulators.threads', 'emulators.limit'
#: The groups that libvirt gives to these threads; vhost threads are with the
#: emulator.
_BESIDE = re.compile(r'emulator|iothread[0-9]+')
_GONE = (FileNotFoundError, ProcessLookupError)
#: How far a limit may be off, because quotas are whole microseconds.
_ROUNDED = 0.001
#: Fields of /proc/TID/stat, counted from the one after the name.
_UTIME, _STIME, _START = 11, 12, 19


@dataclasses.dataclass(frozen=True, slots=True)
class Emulator:
    """The threads of a virtual machine that are not vCPUs.

    :ivar cpus: the CPUs on which at least one of these threads may run
    :ivar used: the CPUs that the threads used on average since they started
    """

    name: str
    cpus: frozenset[int]
    used: float

    def __str__(self) -> str:
        return f'{self.name} ({self.used:.3f} CPUs)'


def threads(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that emulator, I/O and vhost threads are off reserved pCPUs.

    Only virtual machines whose vCPUs are SCHED_DEADLINE count.  Worker threads
    of KVM, which stay on the pCPU of a vCPU, do not count.
    """
    emulators = [_emulator(view, guest) for guest in _reserved(view)]
    if not emulators:
        return
    emulators.sort(key=lambda each: -each.used)
    most = findings.first_few(emulators)
    pcpus = config.chosen(view)
    colliding = [each for each in emulators if each.cpus & pcpus]
    if colliding:
        shared = frozenset[int]().union(*(
            each.cpus & pcpus for each in colliding))
        yield findings.warning(
            _ID, f'The emulator, I/O and vhost threads of '
            f'{findings.first_few([each.name for each in colliding])} may run '
            f'on {words.ids(sorted(shared))}, and get '
            f'there only the time that reservations leave; CPUs used on '
            f'average since the start: {most}.',
            'Name CPUs for these threads in [nova_rt] emulator_cpus, or leave '
            'CPUs of cpu_shared_set out of rt_cpus; the next audit of '
            'nova-compute moves the threads there.')
        return
    used = frozenset[int]().union(*(each.cpus for each in emulators))
    yield findings.ok(
        _ID, f'The emulator, I/O and vhost threads of '
        f'{words.count(len(emulators), "server")} with a reservation run '
        f'on {words.ids(sorted(used), "CPU")}, which reservations '
        f'may not use; CPUs used on average since the start: {most}.')


def limit(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that running servers have the limit of emulator_max_share.

    libvirt sets the limit when a server starts.
    """
    guests, wanted = _reserved(view), view.options.emulator_max_share
    if not guests or not view.options.from_file:
        return
    others = [f'{guest} ({_text(limits)})' for guest in guests
              if not _matches(limits := _limits(view, guest), wanted)]
    text = f'[nova_rt] emulator_max_share is {_text({wanted})}'
    if others:
        yield findings.warning(
            _LIMIT, f'{text}, but emulator or I/O threads have another limit: '
            f'{findings.first_few(others)}.',
            'libvirt sets the limit when a server starts: reboot these '
            'servers hard, or stop and start them.')
    elif wanted is not None:
        yield findings.ok(
            _LIMIT, f'{text}, and the emulator and I/O threads of '
            f'{words.count(len(guests), "server")} have this limit.')


def _matches(limits: set[float | None], wanted: float | None) -> bool:
    return all(value is wanted if value is None or wanted is None
               else abs(value - wanted) <= _ROUNDED for value in limits)


def _text(limits: set[float | None]) -> str:
    return ' and '.join(sorted('unset' if each is None else f'{each:g}'
                               for each in limits))


def _reserved(view: doctor_view.View) -> list[host_guests.Guest]:
    """Returns the virtual machines whose vCPUs are SCHED_DEADLINE."""
    if not view.detection.deadline:
        return []
    reserved = {task.pid for task in view.tasks.deadline}
    return [guest for guest in view.guests if guest.keeper.pid in reserved]


def _groups(view: doctor_view.View, guest: host_guests.Guest
            ) -> Iterator[str]:
    """Yields the groups of the threads that are not vCPUs."""
    for path in view.host.children(view.path(guest.domain, '')):
        if _BESIDE.fullmatch(posixpath.basename(path)):
            yield path


def _limits(view: doctor_view.View, guest: host_guests.Guest
            ) -> set[float | None]:
    """Returns the limits of these groups, in CPUs; None is no limit."""
    return {_limit(view, path) for path in _groups(view, guest)}


def _limit(view: doctor_view.View, path: str) -> float | None:
    text = view.host.optional(posixpath.join(path, 'cpu.max'))
    if text is None:
        text = ' '.join(view.host.optional(posixpath.join(
            path, f'cpu.cfs_{name}_us')) or '' for name in (
                'quota', 'period'))
    quota, _, period = ' '.join(text.split()).partition(' ')
    if quota in ('', '-1', 'max') or not period:
        return None
    return int(quota) / int(period)


def _emulator(view: doctor_view.View, guest: host_guests.Guest) -> Emulator:
    cpus: set[int] = set()
    used = 0.0
    for thread in _threads(view, guest):
        try:
            allowed, share = _read(view, thread)
        except _GONE:
            continue  # the thread has ended
        cpus.update(allowed)
        used += share
    return Emulator(str(guest), frozenset(cpus), used)


def _threads(view: doctor_view.View, guest: host_guests.Guest
             ) -> Iterator[int]:
    """Yields the threads that are not vCPUs, including those of vhost."""
    controller = view.hierarchy.controller if view.hierarchy else ''
    listing = 'tasks' if controller else 'cgroup.threads'
    for path in _groups(view, guest):
        text = view.host.optional(posixpath.join(path, listing)) or ''
        yield from map(int, text.split())


def _read(view: doctor_view.View, thread: int
          ) -> tuple[tuple[int, ...], float]:
    """Returns the CPUs that a thread may use, and the CPUs that it used."""
    directory = f'/proc/{thread}/task/{thread}'
    lines = view.host.read(f'{directory}/status').splitlines()
    allowed = next(line.partition(':')[2].strip() for line in lines
                   if line.startswith('Cpus_allowed_list:'))
    fields = view.host.read(f'{directory}/stat').rpartition(')')[2].split()
    ticks = os.sysconf('SC_CLK_TCK')
    up_s = float(view.host.read('/proc/uptime').split()[0])
    age_s = max(up_s - int(fields[_START]) / ticks, 1 / ticks)
    ran_s = (int(fields[_UTIME]) + int(fields[_STIME])) / ticks
    return cpulist.parse_ids(allowed), ran_s / age_s


CHECKS: dict[str, doctor_view.Check] = {_ID: threads, _LIMIT: limit}
