# SPDX-License-Identifier: Apache-2.0

"""Defines the options of group [nova_rt] and the values derived from them.

The options are registered on the object that the caller gives, never at
import, so that each service and each test has its own.
"""

import inspect
import math
import textwrap
from typing import Any

from oslo_config import cfg
from oslo_config import types

from nova_rt.rules import defaults
from nova_rt.rules import exception
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation

GROUP = 'nova_rt'

_QUOTA_PERIOD_US, _LONG_QUOTA_PERIOD_US = 10_000, 100_000
_LEAST_QUOTA_US = 1_000

#: The capabilities that libvirt can take from a container.
_CAPABILITIES = (
    'audit_control audit_write block_suspend chown dac_override '
    'dac_read_search fowner fsetid ipc_lock ipc_owner kill lease '
    'linux_immutable mac_admin mac_override mknod net_admin net_bind_service '
    'net_broadcast net_raw setgid setfcap setpcap setuid sys_admin sys_boot '
    'sys_chroot sys_module sys_nice sys_pacct sys_ptrace sys_rawio '
    'sys_resource sys_time sys_tty_config syslog wake_alarm').split()


def _policies() -> str:
    """Returns what each packing policy does, as its docstring says."""
    functions = inspect.getmembers(policies, inspect.isfunction)
    return textwrap.fill('; '.join(
        f'``{name}`` {text[0].lower()}{text[1:].rstrip(".")}'
        for name, function in functions if not name.startswith('_')
        for text in (inspect.getdoc(function) or name).splitlines()[:1])
        + '.', 79)


def _group() -> cfg.OptGroup:
    # Each call needs a new group: oslo.config keeps the registered options
    # in the group object.
    return cfg.OptGroup(
        GROUP, title='Real-time CPU reservations', help="""
Reservations of CPU time (a runtime in every period) for virtual machines and
containers.  Set the options that limit tenants (``hint_override`` to
``max_period_us``) to the same values on nova-api, nova-scheduler and
nova-compute.
""")


class _Finite(types.Float):
    """A floating point number; the type of oslo.config also takes nan."""

    def __call__(self, value: Any) -> float:
        number = float(super().__call__(value))
        if not math.isfinite(number):
            raise ValueError('Should be a finite number')
        return number


def _float_opt(name: str, min: float | None = None, max: float | None = None,
               **settings: Any) -> cfg.Opt:
    """Returns an option as cfg.FloatOpt does, for finite numbers only."""
    return cfg.Opt(name, type=_Finite(min, max), **settings)


TENANT_OPTS = [
    cfg.StrOpt(
        'hint_override', default='lower',
        choices=[
            ('any', 'a hint replaces the value of the flavor, key by key'),
            ('lower', 'a hint may only lower the share of the flavor'),
            ('none', 'hints that ask for a reservation are refused')],
        help="""
Limits how far a scheduler hint (``cpu.rt_runtime_us``, ``cpu.rt_period_us``)
may change the reservation of the flavor.  Hints are tenant input.  With
``lower``, a tenant may choose another period, or a smaller share than the
flavor has.  With ``any``, a tenant can reserve up to ``max_share`` for each
vCPU, whatever the flavor has.  The extra spec ``hw:cpu.rt_hint_max_share`` of
a flavor replaces the rule of ``lower`` and ``any`` for that flavor: it gives
the largest share that a hint may ask for, where 0 means that the flavor takes
no hints.  With ``none``, hints are refused on every flavor.
"""),
    cfg.BoolOpt(
        'hints_on_plain_flavors', default=False,
        help="""
Allows hints to ask for a reservation on a flavor that has none.  If true, any
tenant can reserve up to ``max_share`` for each vCPU with any flavor whose
extra spec ``hw:cpu.rt_hint_max_share`` does not forbid that.
"""),
    _float_opt(
        'max_share', default=defaults.MAX_SHARE, min=0.001, max=1.0,
        help="""
The largest share (runtime / period) that one vCPU may reserve.  The API
accepts a share that is larger than the ``cpu_cap`` of every host, but the
scheduler then finds no host for the server.
"""),
    cfg.IntOpt(
        'min_runtime_us', default=defaults.MIN_RUNTIME_US,
        min=reservation.MIN_RUNTIME_US, max=reservation.MAX_PERIOD_US,
        help='The shortest runtime that may be reserved, in microseconds.'),
    cfg.IntOpt(
        'min_period_us', default=defaults.MIN_PERIOD_US,
        min=reservation.MIN_RUNTIME_US, max=reservation.MAX_PERIOD_US,
        help="""
The shortest period that may be reserved, in microseconds.  Short periods cost
CPU time, because the kernel switches contexts at least twice in each period.
"""),
    cfg.IntOpt(
        'max_period_us', default=1_000_000, min=reservation.MIN_RUNTIME_US,
        max=reservation.MAX_PERIOD_US,
        help='The longest period that may be reserved, in microseconds.'),
]

SCHEDULER_OPTS = [
    _float_opt(
        'rt_share_weight_multiplier', default=1.0,
        help="""
Multiplier of RTShareWeigher (nova-scheduler).  If the value is positive,
servers with a reservation go to the host with the most free share (spread).
If the value is negative, servers with a reservation go to the host with the
least free share (pack).  If the value is 0, RTShareWeigher does not weigh
hosts.  The aggregate metadata ``rt_share_weight_multiplier`` overrides this
option for the hosts of an aggregate.
"""),
    _float_opt(
        'interference_weight_multiplier', default=10.0,
        help="""
Multiplier of RTInterferenceWeigher (nova-scheduler).  With a multiplier of 1,
the throughput of one undisturbed server counts as much as the difference
between the worst and the best host for one of Nova's own weighers.
RTInterferenceWeigher weighs hosts only for servers with a type
(``hw:cpu.vnf_type``).  If the value is 0, RTInterferenceWeigher does not weigh
hosts.  The aggregate metadata ``interference_weight_multiplier`` overrides
this option for the hosts of an aggregate.
"""),
    _float_opt(
        'chr_weight_multiplier', default=1.0,
        help="""
Multiplier of RTCHRWeigher (nova-scheduler).  For servers with a class
(``hw:cpu.app_class``) and no reservation, RTCHRWeigher prefers hosts of
containers that have only a few CPUs more than the server.  If the value is 0,
RTCHRWeigher does not weigh hosts.  The aggregate metadata
``chr_weight_multiplier`` overrides this option for the hosts of an aggregate.
"""),
    cfg.StrOpt(
        'interference_matrix',
        help="""
Path of the file with the interference matrix for servers without a
reservation (nova-scheduler).  The matrix says how much of its throughput a
server keeps beside each type of neighbour.  ``nova-rt interference check``
checks the file.  If this option is unset, nova-scheduler uses the matrix that
comes with nova-rt, where most cells are estimates.  If the file cannot be
used, RTInterferenceWeigher does not weigh hosts.
"""),
    cfg.StrOpt(
        'interference_matrix_reserved',
        help="""
Path of the file with the interference matrix for servers with a reservation
(nova-scheduler).  If this option is unset, RTInterferenceWeigher does not know
how much throughput these servers lose beside others.  RTInterferenceWeigher
logs this, and places the servers as if they lost nothing.
"""),
]

COMPUTE_OPTS = [
    cfg.StrOpt(
        'report_file', default='$state_path/nova-rt.json',
        help="""
The file that nova-compute writes at each claim and audit, with the amounts
that it offers, and with its counts of claims, refusals and corrections.
nova-rt-monitor makes metrics of the file (``--report``).  If the value is
empty, nova-compute writes no file.
"""),
    cfg.BoolOpt(
        'hcbs_scheduler_available',
        default=defaults.HCBS_SCHEDULER_AVAILABLE,
        help="""
Offers reservations on this compute node (nova-compute).  If false, the node
advertises a total ``rt_share`` of 0 and gets no new server with a reservation.
Servers that already run on the node keep their reservations.
"""),
    _float_opt(
        'cpu_cap', default=defaults.CPU_CAP, min=0.001, max=1.0,
        help="""
The part of each pCPU that reservations may use (nova-compute).  If the
kernel's own limit is lower, the kernel's limit is used: see
``/proc/sys/kernel/sched_rt_runtime_us``.
"""),
    cfg.StrOpt(
        'packing_policy', default='worst_fit',
        help=f"""
The packing policy by which the pCPUs of a server are chosen among those with
room (nova-compute).  The metadata ``nova_rt:packing_policy`` of a host
aggregate overrides this option for the hosts of the aggregate.  The value may
be the name of any entry point of group ``nova_rt.packing``.  These policies
come with nova-rt:
{_policies()}
"""),
    cfg.StrOpt(
        'defrag_on_reject', default='off',
        choices=[
            ('off', 'the server is refused'),
            ('plan', 'the moves are logged, and the server is refused'),
            ('apply', 'the moves are made, and the server gets the room')],
        help="""
What nova-compute does with a server that does not fit on the pCPUs of this
host while the free bandwidth of all pCPUs together would be enough.  A plan
moves vCPUs of other servers to other pCPUs; each server has its reservation
all the time.  Only the kernel interface ``sched_deadline`` lets vCPUs move.
With ``apply``, nova-scheduler sends such servers to this host if no other host
has room.  Servers with a NUMA topology are refused.
"""),
    cfg.StrOpt(
        'defrag_on_accept', default='off',
        choices=[
            ('off', 'no server moves'),
            ('plan', 'the moves are logged'),
            ('apply', 'the moves are made')],
        help="""
What nova-compute does when it accepts a server.  A plan has up to two moves of
vCPUs of other servers to other pCPUs, which gather the free bandwidth of the
host on few pCPUs, so that later servers with large shares fit; each server has
its reservation all the time.  Use it with ``packing_policy = best_fit``.  The
new server waits for the moves, and each move disturbs the caches of a server.
Only the kernel interface ``sched_deadline`` lets vCPUs move.
"""),
    cfg.IntOpt(
        'defrag_max_moves', default=2, min=1, max=8,
        help="""
The largest number of moves for one server (nova-compute, see
``defrag_on_reject`` and ``defrag_on_accept``).  Other claims on the host wait
for the moves; a move takes from a few milliseconds to two of its server's
periods.
"""),
    cfg.StrOpt(
        'rt_cpus',
        help="""
The pCPUs that reservations may use, for example ``2-15,^8`` (nova-compute).
These pCPUs must be among the CPUs that Nova gives to unpinned servers
(``[compute] cpu_shared_set``).  If this option is unset, reservations may use
all CPUs that Nova gives to unpinned servers.
"""),
    cfg.StrOpt(
        'emulator_cpus',
        help="""
The pCPUs on which the emulator, I/O and vhost threads of virtual machines with
a reservation run, for example ``0,32`` (nova-compute).  The threads of a
server run on those pCPUs of the list that are in its NUMA cells, or on the
whole list if none of the pCPUs is in these cells.  The pCPUs must be online,
and must be neither pCPUs that reservations may use (``rt_cpus``) nor pCPUs
that Nova dedicates to servers (``[compute] cpu_dedicated_set``).  The pCPUs
need not be in ``[compute] cpu_shared_set``.  If this option is unset, the
threads run on the pCPUs of ``cpu_shared_set`` that ``rt_cpus`` leaves out.
Only the kernel interface ``sched_deadline`` uses this option, on hosts where
this interface keeps each vCPU on its pCPU.  With ``hw:emulator_threads_policy
= isolate`` the threads stay on the pCPU that Nova dedicates to them.
"""),
    _float_opt(
        'emulator_max_share', min=0.01,
        help="""
The largest share of a CPU that the emulator and vhost threads of one virtual
machine with a reservation may use together (nova-compute).  The limit also
holds for each of its I/O threads.  libvirt writes the limit
(``emulator_quota``, ``iothread_quota``) when the server starts, so a server
that runs gets a changed value when it is next started.  A vCPU that waits for
the emulator waits longer while the emulator is at its limit: choose a share
well above the use that ``nova-rt top`` shows (EMULATOR).  If this option is
unset, there is no limit.
"""),
    cfg.StrOpt(
        'smt', default='ignore',
        choices=[
            ('ignore', 'each thread of a core counts as a separate pCPU'),
            ('prefer', 'a reservation goes first to cores without a '
                       'reservation'),
            ('core', 'the reservations on all threads of a core together '
             'stay within cpu_cap')],
        help="""
What the threads of one core (SMT, hyper-threads) mean for reservations
(nova-compute).  A reservation is a share of the *time* of a thread, and a busy
sibling makes the thread slower.  With ``core`` a host offers no more of a core
than of one pCPU: with two threads in each core, that is half as much as with
``ignore``.  Servers without a reservation may still run on the sibling.  To
prevent that, take one thread of each core out of ``[compute] cpu_shared_set``,
or switch SMT off.  Servers that already run keep their reservations when this
option changes.
"""),
    cfg.StrOpt(
        'kernel_interface',
        help="""
The kernel interface by which reservations are enforced (nova-compute): the
name of an entry point of group ``nova_rt.kernel``, or ``sched_deadline``.  If
this option is unset, nova-compute probes the kernel at its start.
nova-compute uses the interface by which the kernel gives budgets to control
groups, or ``sched_deadline`` if the kernel has no such interface.
``sched_deadline`` makes the vCPU threads of virtual machines SCHED_DEADLINE
and keeps each vCPU thread on its pCPU where the kernel allows that.  With
``sched_deadline``, containers cannot have a reservation.
"""),
    cfg.StrOpt(
        'guest_policy', default=defaults.GUEST_POLICY,
        choices=[
            ('rr', 'SCHED_RR'), ('fifo', 'SCHED_FIFO'),
            ('none', 'tasks of a server get no real-time policy; a guest '
             'has to make its own tasks real-time')],
        help="""
The real-time policy that the tasks of a server get once the budget of the
server is in place (nova-compute).  A budget of a control group counts only for
SCHED_FIFO and SCHED_RR tasks.  With ``fifo``, the second of two busy tasks of
a server on one pCPU never runs.  If the second task was interrupted in the
kernel and the kernel has no CONFIG_RCU_BOOST, the whole host can hang.
"""),
    cfg.IntOpt(
        'guest_priority', default=defaults.GUEST_PRIORITY, min=1, max=99,
        help="""
The real-time priority that goes with ``guest_policy`` (nova-compute).  On
mainline RT_GROUP_SCHED this is the lowest priority of a server, and the kernel
compares priorities across control groups: choose a priority above that of
every other real-time task that may run on the reserved pCPUs.
"""),
    cfg.IntOpt(
        'guest_priority_max', default=defaults.GUEST_PRIORITY_MAX,
        min=1, max=99,
        help="""
The highest real-time priority of a server (nova-compute).  Only mainline
RT_GROUP_SCHED, which has no deadlines, uses this option.  On this kernel
interface the server with the shorter period must have the higher priority, or
servers on one pCPU take each other's share.  The periods of 1 ms to 4.2 s are
spread over the priorities from ``guest_priority`` to ``guest_priority_max``.
With fewer priorities, more servers have the same priority and fewer servers
fit on a pCPU.
"""),
    cfg.IntOpt(
        'min_divided_runtime_us', default=defaults.MIN_DIVIDED_RUNTIME_US,
        min=0, max=reservation.MAX_PERIOD_US,
        help="""
The shortest runtime that a division for the kernel may make, in microseconds
(nova-compute).  Only mainline RT_GROUP_SCHED, which has no deadlines, uses
this option.  On this kernel interface nova-compute may divide the runtime and
the period of a claim by the same number before it writes them to the kernel,
so that more servers fit on a pCPU; 100 is a good value.  A divided server has
a higher priority, so servers with shorter periods may answer later while the
divided server is busy.  With 0, new claims are not divided.  Versions of
nova-rt without this option do not read divided claims.
"""),
    cfg.ListOpt(
        'drop_capabilities', default=['sys_nice', 'sys_resource'],
        item_type=types.String(choices=_CAPABILITIES),
        help="""
The capabilities that are taken from every container, with or without a
reservation (nova-compute).  The list uses libvirt's names of capabilities: in
lower case, without ``cap_``.  With ``sys_nice``, root in a container could
raise its real-time priority above the priority of its neighbours, or make
itself SCHED_DEADLINE.  With ``sys_resource``, root in a container could raise
its limit on real-time priorities (RLIMIT_RTPRIO).  Without these two
capabilities, no process of a container can make itself real-time, raise its
priority, use a negative nice value (``chrt``, ``CPUSchedulingPolicy=`` and
``Nice=`` of systemd), change the scheduling or the CPUs of processes of other
users, or raise hard limits (``ulimit -H``).  If the list is empty, containers
keep the capabilities that libvirt leaves them.  A container gets a changed
value when the container is next started.
"""),
]

ALL_OPTS = TENANT_OPTS + SCHEDULER_OPTS + COMPUTE_OPTS


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Registers group [nova_rt] on *conf*; may be called repeatedly."""
    conf.register_group(_group())
    conf.register_opts(ALL_OPTS, group=GROUP)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """Returns all options, as oslo.config's sample generator needs them."""
    return [(_group(), ALL_OPTS)]


def levels(conf: Any) -> int:
    """Returns the number of priorities that servers may have.

    :raises InvalidConfiguration: when ``guest_priority_max`` is lower than
        ``guest_priority``
    """
    lowest = conf.nova_rt.guest_priority
    highest = conf.nova_rt.guest_priority_max
    if highest < lowest:
        raise exception.InvalidConfiguration(
            option='guest_priority_max', value=highest,
            rule=f'it must be at least guest_priority, which is {lowest}')
    return int(highest - lowest + 1)


def emulator_quota(conf: Any) -> tuple[int, int] | None:
    """Returns the quota and the period of emulator threads, in us.

    The period is short, because a vCPU may wait for these threads, but long
    enough for the kernel's smallest quota, 1 ms (``min_cfs_quota_period`` in
    ``kernel/sched/core.c``).

    :returns: None if there is no limit
    """
    share = conf.nova_rt.emulator_max_share
    if share is None:
        return None
    period_us = (_QUOTA_PERIOD_US
                 if share * _QUOTA_PERIOD_US >= _LEAST_QUOTA_US
                 else _LONG_QUOTA_PERIOD_US)
    return round(share * period_us), period_us


def ppm(share: float) -> int:
    """Returns a share of the configuration in ppm.

    No other function rounds a share that an operator configured.
    """
    return round(share * reservation.PPM)


def limits(conf: Any) -> reservation.Limits:
    """Returns the operator's rules for flavors and hints."""
    group = conf.nova_rt
    return reservation.Limits(
        min_runtime_us=group.min_runtime_us,
        min_period_us=group.min_period_us,
        max_period_us=group.max_period_us,
        max_bandwidth=ppm(group.max_share),
        hint_override=reservation.HintOverride(group.hint_override),
        plain_hints=group.hints_on_plain_flavors)
