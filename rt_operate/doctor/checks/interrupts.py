# SPDX-License-Identifier: Apache-2.0

"""Interrupts that are threads, and would wait for vCPUs to be done.

A task with a deadline goes before every SCHED_FIFO one, and on PREEMPT_RT the
handlers of interrupts are such tasks.
"""

from collections.abc import Iterator, Sequence

from nova_rt.machine.host import interrupts
from nova_rt.machine.host import proc
from nova_rt.rules import cpulist
from rt_operate.doctor.checks import config
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

THREADS = 'interrupts.threads'
_BALANCER = 'irqbalance'
_BANNED = 'IRQBALANCE_BANNED_CPULIST'
#: Threads of one CPU each, which nothing can move.
_TIMERS, _CALLBACKS = 'ktimers/', 'rcuc/'
#: Those that run the callbacks of a CPU elsewhere (rcu_nocbs=).
_OFFLOADED = ('rcuop/', 'rcuos/')


def applies(view: doctor_view.View) -> bool:
    """Whether deadlines of ours may go before interrupts."""
    return view.by_timer and interrupts.are_threads(view.host)


def exposed(view: doctor_view.View) -> list[interrupts.Interrupt]:
    """Those whose threads may run on pCPUs of reservations."""
    if not applies(view):
        return []
    cpus = config.chosen(view)
    return [each for each
            in interrupts.find(view.host, view.tasks.real_time)
            if each.may_run_on(cpus)]


def threads(view: doctor_view.View) -> Iterator[findings.Finding]:
    if not applies(view):
        return
    cpus, others = config.chosen(view), _others(view)
    where = cpulist.format_ids(sorted(cpus))
    found = exposed(view)
    if not found:
        yield findings.ok(
            THREADS, f'Interrupts are threads here, and stay on the CPUs '
            f'{cpulist.format_ids(others)}, off the pCPUs {where} of '
            f'reservations.')
        return
    names = findings.some([f'{each.thread} {each.name}' for each in found])
    yield findings.problem(
        THREADS, f'Interrupts are threads here (PREEMPT_RT or threadirqs), '
        f'which every vCPU with a reservation goes before, and may run on '
        f'the pCPUs {where} of reservations: {names}. A vCPU with 0.9 of a '
        f'pCPU stops them there for some 100 ms.',
        _move(found, others, where) if others else _leave_one(view))


def new(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Interrupts of devices that come later."""
    if not applies(view):
        return
    name = 'interrupts.default'
    cpus, others = config.chosen(view), _others(view)
    wrong = sorted(interrupts.default(view.host) & cpus)
    if not wrong:
        yield findings.ok(name, 'Interrupts of new devices stay off the '
                          'pCPUs of reservations.')
        return
    yield findings.problem(
        name, f'Interrupts of new devices may come to the pCPUs '
        f'{cpulist.format_ids(wrong)} of reservations '
        f'({interrupts.DEFAULT}).',
        f'echo {interrupts.mask(others)} > {interrupts.DEFAULT}'
        if others else _leave_one(view))


def balancer(view: doctor_view.View) -> Iterator[findings.Finding]:
    """What would bring interrupts back."""
    if not applies(view):
        return
    name = 'interrupts.balancer'
    cpus = config.chosen(view)
    for task in view.tasks.processes.values():
        if task.comm != _BALANCER or task.kernel:
            continue
        text = f'{_BALANCER} runs'
        if cpus <= _banned(view, task):
            yield findings.ok(name, f'{text}, and leaves the pCPUs of '
                              f'reservations alone.')
            continue
        ids = cpulist.format_ids(sorted(cpus))
        yield findings.problem(
            name, f'{text}, and may bring interrupts to the pCPUs {ids} of '
            f'reservations.',
            f'Put {_BANNED}={ids} into /etc/default/irqbalance and restart '
            f'it, or stop it.')


def per_cpu(view: doctor_view.View) -> Iterator[findings.Finding]:
    """What cannot be moved from a pCPU; callbacks of RCU can be spared."""
    if not applies(view):
        return
    name = 'interrupts.per_cpu'
    cpus = config.chosen(view)
    bound = sorted(task.comm for task in view.tasks.real_time if task.kernel
                   and task.comm.startswith((_TIMERS, _CALLBACKS))
                   and _cpu(task) in cpus)
    if not bound:
        return
    text = (f'Threads of the kernel that belong to one CPU wait for the '
            f'vCPUs there, and cannot be moved: {findings.some(bound)}')
    ids = [cpu for cpu in sorted(cpus) if cpu not in _offloaded(view)]
    if ids:
        listed = cpulist.format_ids(ids)
        yield findings.warning(
            name, f'{text}. They run the callbacks of RCU for the pCPUs '
            f'{listed}, which can be run elsewhere.',
            f'Boot with rcu_nocbs={listed}')
    else:
        yield findings.ok(name, f'{text}; callbacks of RCU run elsewhere.')


def _others(view: doctor_view.View) -> list[int]:
    """The CPUs that are left to interrupts."""
    return sorted({*view.host.online} - config.chosen(view))


def _leave_one(view: doctor_view.View) -> str:
    online = view.host.online
    if len(online) < 2:
        return ('A host with one CPU has no place for them: run a kernel '
                'without PREEMPT_RT, or have two CPUs.')
    return (f'Leave a CPU to them: [nova_rt] rt_cpus = '
            f'{cpulist.format_ids(online[1:])}, or as many as your devices '
            f'need.')


def _move(found: Sequence[interrupts.Interrupt], others: list[int],
          where: str) -> str:
    """The commands for the interrupts, and for their threads."""
    ids = cpulist.format_ids(others)
    numbers = ' '.join(map(str, sorted({each.number for each in found})))
    tasks = ' '.join(map(str, sorted(each.thread for each in found)))
    return (f'for n in {numbers}; do echo {ids} > '
            f'{interrupts.IRQ}/$n/smp_affinity_list; done; for n in {tasks}; '
            f'do taskset -cp {ids} $n; done  # where the kernel refuses the '
            f'first (EIO, EPERM), as for queues of a disk or a network card '
            f'by CPU, the second counts; isolcpus=managed_irq,{where} at '
            f'boot keeps most of these away')


def _banned(view: doctor_view.View, task: proc.Task) -> frozenset[int]:
    """The CPUs that irqbalance was told to leave alone."""
    try:
        data = view.host.data(f'/proc/{task.pid}/environ')
    except (FileNotFoundError, ProcessLookupError):
        return frozenset()
    for line in data.decode(errors='replace').split('\0'):
        key, _, value = line.partition('=')
        if key == _BANNED:
            try:
                return frozenset(cpulist.parse_ids(value))
            except ValueError:
                return frozenset()
    return frozenset()


def _cpu(task: proc.Task) -> int:
    """The CPU of a thread called ``name/CPU``; -1 for none."""
    number = task.comm.partition('/')[2]
    return int(number) if number.isdecimal() else -1


def _offloaded(view: doctor_view.View) -> frozenset[int]:
    return frozenset(_cpu(task) for task in view.tasks.processes.values()
                     if task.kernel and task.comm.startswith(_OFFLOADED))


CHECKS: dict[str, doctor_view.Check] = {
    THREADS: threads,
    'interrupts.default': new,
    'interrupts.balancer': balancer,
    'interrupts.per_cpu': per_cpu,
}
