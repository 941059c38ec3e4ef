# SPDX-License-Identifier: Apache-2.0

"""Checks for threads of interrupts that have to wait for vCPUs.

A SCHED_DEADLINE task runs before every SCHED_FIFO task.  On PREEMPT_RT the
handlers of interrupts are SCHED_FIFO tasks.
"""

from collections.abc import Iterator, Sequence

from nova_rt.machine.host import interrupts
from nova_rt.machine.host import proc
from nova_rt.rules import cpulist
from nova_rt.rules import words
from rt_operate.doctor.checks import config
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

THREADS = 'interrupts.threads'
_BALANCER = 'irqbalance'
_BANNED = 'IRQBALANCE_BANNED_CPULIST'
#: The threads that belong to one CPU each and cannot be moved.
_TIMERS, _CALLBACKS = 'ktimers/', 'rcuc/'
#: The threads that run the RCU callbacks of a CPU elsewhere (rcu_nocbs=).
_OFFLOADED = ('rcuop/', 'rcuos/')


def applies(view: doctor_view.View) -> bool:
    """Tells whether vCPUs with a reservation preempt interrupts."""
    return view.by_timer and interrupts.are_threads(view.host)


def exposed(view: doctor_view.View) -> list[interrupts.Interrupt]:
    """Returns interrupts whose threads may run on pCPUs of reservations."""
    if not applies(view):
        return []
    cpus = config.chosen(view)
    return [interrupt for interrupt
            in interrupts.find(view.host, view.tasks.real_time)
            if interrupt.may_run_on(cpus)]


def threads(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that threads of interrupts stay off pCPUs of reservations."""
    if not applies(view):
        return
    cpus, free_cpus = config.chosen(view), _free_cpus(view)
    where = cpulist.format_ids(sorted(cpus))
    waiting = exposed(view)
    if not waiting:
        yield findings.ok(
            THREADS, f'Interrupts are threads here.  They stay on '
            f'{words.ids(free_cpus, "CPU")}, off {words.ids(sorted(cpus))} '
            f'of reservations.')
        return
    names = findings.first_few([f'{interrupt.thread} {interrupt.name}'
                                for interrupt in waiting])
    yield findings.problem(
        THREADS, 'Interrupts are threads here (PREEMPT_RT or threadirqs), and '
        'every vCPU with a reservation runs before them.  These threads may '
        f'run on {words.ids(sorted(cpus))} of reservations: {names}. A vCPU '
        'with 0.9 of a pCPU can delay the thread of an interrupt for some '
        '100 ms.',
        _move(waiting, free_cpus, where) if free_cpus else _leave_one(view))


def new(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks where the interrupts of new devices will be handled."""
    if not applies(view):
        return
    name = 'interrupts.default'
    cpus, free_cpus = config.chosen(view), _free_cpus(view)
    wrong = sorted(interrupts.default(view.host) & cpus)
    if not wrong:
        yield findings.ok(name, 'Interrupts of new devices stay off the '
                          'pCPUs of reservations.')
        return
    yield findings.problem(
        name, f'Interrupts of new devices may be handled on '
        f'{words.ids(wrong)} of reservations '
        f'({interrupts.DEFAULT}).',
        f'echo {interrupts.mask(free_cpus)} > {interrupts.DEFAULT}'
        if free_cpus else _leave_one(view))


def balancer(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether irqbalance may move interrupts back."""
    if not applies(view):
        return
    name = 'interrupts.balancer'
    cpus = config.chosen(view)
    for task in view.tasks.processes.values():
        if task.comm != _BALANCER or task.kernel:
            continue
        text = f'{_BALANCER} runs'
        if cpus <= _banned(view, task):
            yield findings.ok(name, f'{text}, and does not use the pCPUs of '
                              f'reservations.')
            continue
        ids = cpulist.format_ids(sorted(cpus))
        yield findings.problem(
            name, f'{text}, and may move interrupts to '
            f'{words.ids(sorted(cpus))} of reservations.',
            f'Put {_BANNED}={ids} into /etc/default/irqbalance and restart '
            f'irqbalance, or stop it.')


def per_cpu(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks for kernel threads of a pCPU that have to wait for vCPUs.

    These threads cannot be moved, but callbacks of RCU can run elsewhere.
    """
    if not applies(view):
        return
    name = 'interrupts.per_cpu'
    cpus = config.chosen(view)
    bound = sorted(task.comm for task in view.tasks.real_time if task.kernel
                   and task.comm.startswith((_TIMERS, _CALLBACKS))
                   and _cpu(task) in cpus)
    if not bound:
        return
    text = (f'Kernel threads that belong to one CPU have to wait for the '
            f'vCPUs there, and cannot be moved: {findings.first_few(bound)}')
    ids = [cpu for cpu in sorted(cpus) if cpu not in _offloaded(view)]
    if ids:
        listed = cpulist.format_ids(ids)
        yield findings.warning(
            name, f'{text}. They run the RCU callbacks of '
            f'{words.ids(ids)}, which could run elsewhere.',
            f'Boot with rcu_nocbs={listed}')
    else:
        yield findings.ok(name, f'{text}; RCU callbacks run elsewhere.')


def _free_cpus(view: doctor_view.View) -> list[int]:
    """Returns the CPUs that are left to interrupts."""
    return sorted({*view.host.online} - config.chosen(view))


def _leave_one(view: doctor_view.View) -> str:
    online = view.host.online
    if len(online) < 2:
        return ('A host with one CPU has no CPU left for interrupts: run a '
                'kernel without PREEMPT_RT, or use a host with two CPUs.')
    return (f'Leave a CPU to interrupts: [nova_rt] rt_cpus = '
            f'{cpulist.format_ids(online[1:])}; leave more CPUs if your '
            f'devices need them.')


def _move(waiting: Sequence[interrupts.Interrupt], free_cpus: list[int],
          where: str) -> str:
    """Returns the commands that move the interrupts and their threads."""
    ids = cpulist.format_ids(free_cpus)
    numbers = ' '.join(map(str, sorted(
        {interrupt.number for interrupt in waiting})))
    tasks = ' '.join(map(str, sorted(
        interrupt.thread for interrupt in waiting)))
    return (f'for n in {numbers}; do echo {ids} > '
            f'{interrupts.IRQ}/$n/smp_affinity_list; done; for n in {tasks}; '
            f'do taskset -cp {ids} $n; done  # the kernel may refuse the '
            f'first command (EIO, EPERM), for example for per-CPU queues of '
            f'a disk or a network card; the second command is then enough.  '
            f'isolcpus=managed_irq,{where} at boot keeps most of these '
            f'interrupts away')


def _banned(view: doctor_view.View, task: proc.Task) -> frozenset[int]:
    """Returns the CPUs that irqbalance is configured not to use."""
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
    """Returns the CPU of a thread called ``name/CPU``; -1 for others."""
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
