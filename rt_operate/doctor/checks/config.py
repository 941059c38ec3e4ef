# SPDX-License-Identifier: Apache-2.0

"""The options of nova-compute, as far as they decide on reservations."""

from collections.abc import Iterator

from nova_rt.machine.host import guests
from nova_rt.rules import cpulist
from rt_operate.doctor.checks import kernel
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view


def read(view: doctor_view.View) -> Iterator[findings.Finding]:
    options = view.options
    if options.trouble:
        yield findings.problem(
            'config.read', f'nova.conf could not be used, and the defaults '
            f'are taken: {options.trouble}.',
            'Correct it, or name the right one with --config-file.')
    else:
        yield findings.ok(
            'config.read',
            f'Options are from {options.source}: cpu_cap '
            f'{options.cpu_cap}, rt_cpus {options.rt_cpus or "unset"}, '
            f'guest_policy {options.guest_policy}, virt_type '
            f'{options.virt_type}.')


def offered(view: doctor_view.View) -> Iterator[findings.Finding]:
    options = view.options
    if not options.hcbs_scheduler_available:
        yield findings.warning(
            'config.offered', 'This host offers no reservations: [nova_rt] '
            'hcbs_scheduler_available is false.',
            'Set it to true and restart nova-compute, unless the host is '
            'meant to be out.')
    if options.virt_type not in guests.VIRT_TYPES:
        yield findings.problem(
            'config.virt_type',
            f'[libvirt] virt_type is {options.virt_type}: only guests of '
            f'{", ".join(guests.VIRT_TYPES)} can be reserved.',
            'Set it to one of these.')


def policy(view: doctor_view.View) -> Iterator[findings.Finding]:
    if view.options.guest_policy == 'none':
        yield findings.warning(
            'config.guest_policy', 'With [nova_rt] guest_policy = none the '
            'tasks of a server stay ordinary, and a reservation binds '
            'SCHED_FIFO and SCHED_RR tasks only.',
            'Set it to rr or fifo, unless your images make their tasks '
            'real-time themselves.')
    elif view.options.guest_policy == 'fifo' and _may_strand(view):
        yield findings.warning(
            'config.guest_policy', 'With [nova_rt] guest_policy = fifo the '
            'second of two busy tasks of a server on one pCPU never runs.  '
            'This kernel interrupts tasks that read under RCU and does not '
            'boost them (CONFIG_PREEMPT_RCU without CONFIG_RCU_BOOST): if '
            'one never runs again, the whole host comes to a stand.',
            'Set it to rr, where each gets its turn.')


def _may_strand(view: doctor_view.View) -> bool:
    """Whether a task that never runs may hold up RCU, as far as is known."""
    built = kernel.config(view.host) or {}
    return ('CONFIG_PREEMPT_RCU' in built
            and 'CONFIG_RCU_BOOST' not in built)


def cpus(view: doctor_view.View) -> Iterator[findings.Finding]:
    spec = view.options.rt_cpus
    if not spec:
        return
    try:
        wanted = parse(spec)
    except ValueError:
        yield findings.problem(
            'config.rt_cpus', f'[nova_rt] rt_cpus is {spec}, which is no '
            f'list of CPUs.', 'Write it like 2-15,^8.')
        return
    missing = sorted(wanted - set(view.host.online))
    if missing:
        yield findings.problem(
            'config.rt_cpus', f'[nova_rt] rt_cpus names pCPUs that are not '
            f'online, {cpulist.format_ids(missing)}: nova-compute will not '
            f'start.', 'Take them out of it, or bring them online.')


def parse(spec: str) -> frozenset[int]:
    """Ids and ranges, less those after ``^``, as Nova reads them.

    :raises ValueError: it is none
    """
    parts = [part.strip() for part in spec.split(',')]
    ids = {cpu for part in parts if not part.startswith('^')
           for cpu in cpulist.parse_ids(part)}
    return frozenset(ids - {cpu for part in parts if part.startswith('^')
                            for cpu in cpulist.parse_ids(part[1:])})


def chosen(view: doctor_view.View) -> frozenset[int]:
    """The CPUs that reservations may use; all online where unknown."""
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
}
