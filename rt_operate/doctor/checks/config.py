# SPDX-License-Identifier: Apache-2.0

"""Checks the options of nova-compute that decide on reservations."""

from collections.abc import Iterator
import contextlib

from nova_rt.machine.host import guests
from nova_rt.machine.host import nodes
from nova_rt.rules import cpulist
from nova_rt.rules import words
from rt_operate.doctor.checks import kernel
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view


def read(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether nova.conf can be read."""
    options = view.options
    if options.trouble:
        yield findings.problem(
            'config.read', f'nova.conf could not be used, so this report '
            f'uses the defaults: {options.trouble}.',
            'Correct the file, or name the right one with --config-file.')
    else:
        yield findings.ok(
            'config.read',
            f'The options come from {options.source}: cpu_cap '
            f'{options.cpu_cap}, rt_cpus {options.rt_cpus or "unset"}, '
            f'guest_policy {options.guest_policy}, virt_type '
            f'{options.virt_type}.')


def offered(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether the options let this host offer reservations."""
    options = view.options
    if not options.hcbs_scheduler_available:
        yield findings.warning(
            'config.offered', 'This host offers no reservations: [nova_rt] '
            'hcbs_scheduler_available is false.',
            'Set hcbs_scheduler_available to true and restart nova-compute, '
            'unless this host is meant to offer no reservations.')
    if options.virt_type not in guests.VIRT_TYPES:
        yield findings.problem(
            'config.virt_type',
            f'[libvirt] virt_type is {options.virt_type}: only guests of the '
            f'types {", ".join(guests.VIRT_TYPES)} can have reservations.',
            'Set virt_type to one of these types.')


def policy(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether guest_policy lets every task of a server run."""
    if view.options.guest_policy == 'none':
        yield findings.warning(
            'config.guest_policy', 'With [nova_rt] guest_policy = none the '
            'tasks of a server stay ordinary, but a reservation only binds '
            'SCHED_FIFO and SCHED_RR tasks.',
            'Set guest_policy to rr or fifo, unless your images make their '
            'tasks real-time themselves.')
    elif view.options.guest_policy == 'fifo' and _may_strand(view):
        yield findings.warning(
            'config.guest_policy', 'With [nova_rt] guest_policy = fifo the '
            'second of two busy tasks of a server on one pCPU never runs.  '
            'This kernel preempts tasks inside an RCU read section and does '
            'not boost them (CONFIG_PREEMPT_RCU without CONFIG_RCU_BOOST): '
            'if such a task never runs again, the whole host hangs.',
            'Set guest_policy to rr, so that tasks take turns.')


def _may_strand(view: doctor_view.View) -> bool:
    """Tells whether a task that never runs may block RCU.

    False also where the configuration of the kernel is not known.
    """
    build_options = kernel.config(view.host) or {}
    return ('CONFIG_PREEMPT_RCU' in build_options
            and 'CONFIG_RCU_BOOST' not in build_options)


def cpus(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether rt_cpus names pCPUs that are online."""
    spec = view.options.rt_cpus
    if not spec:
        return
    try:
        ids = parse(spec)
    except ValueError:
        yield findings.problem(
            'config.rt_cpus', f'[nova_rt] rt_cpus is {spec}, which is not a '
            f'list of CPUs.', 'Write the list like 2-15,^8.')
        return
    missing = sorted(ids - set(view.host.online))
    if missing:
        yield findings.problem(
            'config.rt_cpus', f'[nova_rt] rt_cpus names {words.ids(missing)}, '
            f'which {words.noun(len(missing), "is", "are")} not online: '
            f'nova-compute will not start.',
            f'Remove {words.ids(missing)} from rt_cpus, or bring '
            f'{words.noun(len(missing), "this pCPU", "these pCPUs")} online.')


def spare(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether each NUMA cell has CPUs that reservations may not use.

    Emulator, I/O and vhost threads, and vCPUs that a mask leaves out, then run
    there.
    """
    options = view.options
    if (not (options.rt_cpus and view.detection.deadline)
            or options.emulator_cpus):
        return
    reserved, shared = chosen(view), frozenset(view.host.online)
    with contextlib.suppress(ValueError):
        shared &= parse(options.cpu_shared_set or '') or shared
    free = shared - reserved
    short = [cell for cell in _cells(view)
             if cell & reserved and not cell & free]
    if short:
        lists = ' and '.join(cpulist.format_ids(sorted(cell))
                             for cell in short)
        yield findings.warning(
            'config.spare', f'No CPU of the NUMA cells with the CPUs {lists} '
            f'is in cpu_shared_set and outside of rt_cpus: the emulator, I/O '
            f'and vhost threads of servers there run in another cell, or in '
            f'the time that reservations leave.',
            'Leave one or two CPUs of each cell out of [nova_rt] rt_cpus.')
    else:
        yield findings.ok(
            'config.spare', f'The emulator, I/O and vhost threads of reserved '
            f'servers run on {words.ids(sorted(free), "CPU")}, '
            f'which reservations may not use.')


def emulator_cpus(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether emulator_cpus names CPUs that nova-compute accepts."""
    name, spec = 'config.emulator_cpus', view.options.emulator_cpus
    if not spec:
        return
    try:
        ids = parse(spec)
    except ValueError:
        ids = frozenset()
    wrong = _wrong(view, ids)
    if wrong:
        yield findings.problem(
            name, f'[nova_rt] emulator_cpus is {spec}, {wrong}: '
            f'nova-compute will not start.', 'Name online CPUs that are '
            'neither in rt_cpus nor in [compute] cpu_dedicated_set.')
    elif not view.detection.deadline:
        yield findings.warning(
            name, '[nova_rt] emulator_cpus has no effect on this host: '
            'emulator threads are moved only with sched_deadline.',
            'Remove emulator_cpus from nova.conf.')
    else:
        yield _cells_finding(view, ids)


def _wrong(view: doctor_view.View, ids: frozenset[int]) -> str:
    """Returns why nova-compute does not accept CPUs for emulators, or ''."""
    if not ids:
        return 'which is not a list of CPUs'
    dedicated: frozenset[int] = frozenset()
    with contextlib.suppress(ValueError):
        dedicated = parse(view.options.cpu_dedicated_set or '')
    offline = ids.difference(view.host.online)
    for why, wrong in (
            (f'but {{}} {words.noun(len(offline), "is", "are")} not online',
             offline),
            ('but reservations may use {}', ids & chosen(view)),
            ('but Nova dedicates {} to servers', ids & dedicated)):
        if wrong:
            return why.format(words.ids(sorted(wrong), 'CPU'))
    return ''


def _cells_finding(view: doctor_view.View, ids: frozenset[int]
                   ) -> findings.Finding:
    """Says which NUMA cells have CPUs for emulators."""
    name, reserved = 'config.emulator_cpus', chosen(view)
    short = [cell for cell in _cells(view)
             if cell & reserved and not cell & ids]
    limit = view.options.emulator_max_share
    bound = ('without a limit' if limit is None else
             f'each server and each of its I/O threads with at most {limit:g} '
             f'CPUs')
    text = (f'The emulator, I/O and vhost threads of reserved servers run on '
            f'{words.ids(sorted(ids), "CPU")}, {bound}')
    if not short:
        return findings.ok(name, f'{text}.')
    lists = ' and '.join(cpulist.format_ids(sorted(cell)) for cell in short)
    return findings.warning(
        name, f'{text}; none of these CPUs is in the NUMA cells with the CPUs '
        f'{lists}.', 'Name one or two CPUs of each cell in emulator_cpus.')


def _cells(view: doctor_view.View) -> list[frozenset[int]]:
    """Returns the CPUs of each NUMA cell; without NUMA, of one cell."""
    try:
        names = view.host.names(nodes.DIRECTORY)
    except OSError:
        names = []
    lists = [view.host.optional(f'{nodes.DIRECTORY}/{name}/cpulist')
             for name in names if name.startswith('node')]
    return [frozenset(cpulist.parse_ids(text)) for text in lists if text] or [
        frozenset(view.host.online)]


def parse(spec: str) -> frozenset[int]:
    """Returns the CPUs of a list as Nova reads it.

    :param spec: ids and ranges; ``^`` excludes an id or a range
    :raises ValueError: when the text is not such a list
    """
    parts = [part.strip() for part in spec.split(',')]
    ids = {cpu for part in parts if not part.startswith('^')
           for cpu in cpulist.parse_ids(part)}
    return frozenset(ids - {cpu for part in parts if part.startswith('^')
                            for cpu in cpulist.parse_ids(part[1:])})


def chosen(view: doctor_view.View) -> frozenset[int]:
    """Returns the CPUs that reservations may use; if unknown, all online."""
    online = frozenset(view.host.online)
    spec = view.options.rt_cpus or view.options.cpu_shared_set
    try:
        return parse(spec or '') & online or online
    except ValueError:
        return online


CHECKS: dict[str, doctor_view.Check] = {
    'config.read': read,
    'config.offered': offered,
    'config.guest_policy': policy,
    'config.rt_cpus': cpus,
    'config.spare': spare,
    'config.emulator_cpus': emulator_cpus,
}
