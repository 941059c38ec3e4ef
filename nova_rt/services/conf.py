# SPDX-License-Identifier: Apache-2.0

"""The options of group [nova_rt] and the values derived from them.

Options are registered on the object given, never at import, so that each
service and each test has its own.
"""

from typing import Any

from oslo_config import cfg
from oslo_config import types

from nova_rt.rules import defaults
from nova_rt.rules import exception
from nova_rt.rules import reservation

GROUP = 'nova_rt'

#: What libvirt can take from a container.
_CAPABILITIES = (
    'audit_control audit_write block_suspend chown dac_override '
    'dac_read_search fowner fsetid ipc_lock ipc_owner kill lease '
    'linux_immutable mac_admin mac_override mknod net_admin net_bind_service '
    'net_broadcast net_raw setgid setfcap setpcap setuid sys_admin sys_boot '
    'sys_chroot sys_module sys_nice sys_pacct sys_ptrace sys_rawio '
    'sys_resource sys_time sys_tty_config syslog wake_alarm').split()


def _group() -> cfg.OptGroup:
    # A new one each time: oslo.config keeps the options in the group object.
    return cfg.OptGroup(
        GROUP, title='Real-time CPU reservations', help="""
Reservations of CPU time (a runtime in every period) for containers and
virtual machines.  Set the options for tenants alike on nova-api,
nova-scheduler and nova-compute.
""")


TENANT_OPTS = [
    cfg.StrOpt(
        'hint_override', default='lower',
        choices=[
            ('any', 'a hint wins over the flavor, key by key'),
            ('lower', 'a hint may only lower the share of the flavor'),
            ('none', 'hints with a reservation are refused')],
        help="""
What a scheduler hint (``cpu.rt_runtime_us``, ``cpu.rt_period_us``) may do to
the reservation of the flavor.  Hints are tenant input: with ``lower`` a tenant
chooses another period, or less than the flavor sells; with ``any`` it can
reserve up to ``max_share`` of each vCPU, whatever the flavor sells.  A flavor
with the extra spec ``hw:cpu.rt_hint_max_share`` says for itself up to which
share hints count on it (0: they do not), unless this is ``none``.
"""),
    cfg.BoolOpt(
        'hints_on_plain_flavors', default=False,
        help="""
Whether a hint counts on a flavor without a reservation.  Then any tenant can
reserve up to ``max_share`` of each vCPU with any flavor that does not say
otherwise by ``hw:cpu.rt_hint_max_share``.
"""),
    cfg.FloatOpt(
        'max_share', default=defaults.MAX_SHARE, min=0.001, max=1.0,
        help="""
The largest share (runtime / period) of one vCPU.  A share above ``cpu_cap``
of every host is accepted by the API and finds no host.
"""),
    cfg.IntOpt(
        'min_runtime_us', default=defaults.MIN_RUNTIME_US,
        min=reservation.MIN_RUNTIME_US, max=reservation.MAX_PERIOD_US,
        help='The shortest runtime, in microseconds.'),
    cfg.IntOpt(
        'min_period_us', default=defaults.MIN_PERIOD_US,
        min=reservation.MIN_RUNTIME_US, max=reservation.MAX_PERIOD_US,
        help="""
The shortest period, in microseconds.  Short periods cost: the kernel switches
contexts at least twice in each.
"""),
    cfg.IntOpt(
        'max_period_us', default=1_000_000, min=reservation.MIN_RUNTIME_US,
        max=reservation.MAX_PERIOD_US,
        help='The longest period, in microseconds.'),
]

SCHEDULER_OPTS = [
    cfg.FloatOpt(
        'rt_share_weight_multiplier', default=1.0,
        help="""
Multiplier of RTShareWeigher (nova-scheduler).  Positive: servers with a
reservation go to the host with the most free share (spread).  Negative: to
the one with the least (pack).  0: no weighing.  The aggregate metadata
``rt_share_weight_multiplier`` overrides it for the hosts of an aggregate.
"""),
    cfg.FloatOpt(
        'interference_weight_multiplier', default=10.0,
        help="""
Multiplier of RTInterferenceWeigher (nova-scheduler): what the throughput of
one undisturbed server counts, where Nova's own weighers count 0 to 1 each.  It
is for servers with a type (``hw:cpu.vnf_type``).  0: no weighing.  The
aggregate metadata ``interference_weight_multiplier`` overrides it.
"""),
    cfg.FloatOpt(
        'chr_weight_multiplier', default=1.0,
        help="""
Multiplier of RTCHRWeigher (nova-scheduler), which prefers hosts of a size that
suits servers with a class (``hw:cpu.app_class``) and no reservation.  0: no
weighing.  The aggregate metadata ``chr_weight_multiplier`` overrides it.
"""),
    cfg.StrOpt(
        'interference_matrix',
        help="""
The file that says how much throughput a server without a reservation keeps
beside each type of neighbour (nova-scheduler); ``nova-rt interference check``
tells whether it is good.  Unset: the one that comes with nova-rt, of which
most cells are estimates.  With a bad file nothing is weighed.
"""),
    cfg.StrOpt(
        'interference_matrix_reserved',
        help="""
The same for servers with a reservation (nova-scheduler).  Unset: they lose
nothing beside others.
"""),
]

COMPUTE_OPTS = [
    cfg.BoolOpt(
        'hcbs_scheduler_available',
        default=defaults.HCBS_SCHEDULER_AVAILABLE,
        help="""
Whether this compute node offers reservations (nova-compute).  Set to false,
the node advertises a total rt_share of 0 and gets no new server with a
reservation; the ones it has keep theirs.
"""),
    cfg.FloatOpt(
        'cpu_cap', default=defaults.CPU_CAP, min=0.001, max=1.0,
        help="""
The part of each pCPU that reservations may use (nova-compute).  The kernel's
own limit, if lower, wins: see ``/proc/sys/kernel/sched_rt_runtime_us``.
"""),
    cfg.StrOpt(
        'packing_policy', default='worst_fit',
        help="""
How the pCPUs of a server are chosen (nova-compute): ``worst_fit`` takes the
emptiest, ``best_fit`` the fullest with room, ``first_fit`` the lowest ids, or
the name of any entry point of group ``nova_rt.packing``.
"""),
    cfg.StrOpt(
        'rt_cpus',
        help="""
The pCPUs that reservations may use, for example ``2-15,^8`` (nova-compute).
They must lie within the CPUs Nova gives to unpinned servers
(``[compute] cpu_shared_set``).  Unset: all of those.
"""),
    cfg.StrOpt(
        'kernel_interface',
        help="""
The kernel interface to use (nova-compute), an entry point of group
``nova_rt.kernel``.  Unset: probed at start.  ``sched_deadline`` makes the
vCPU threads of virtual machines SCHED_DEADLINE, each on its pCPU where the
kernel allows that, as is done unset where the kernel has no budgets for
groups; containers have no reservation then.
"""),
    cfg.StrOpt(
        'guest_policy', default=defaults.GUEST_POLICY,
        choices=[
            ('rr', 'SCHED_RR'), ('fifo', 'SCHED_FIFO'),
            ('none', 'leave it to the guest to make its tasks real-time')],
        help="""
The real-time policy given to the tasks of a server once its budget is in
place (nova-compute).  A reservation binds SCHED_FIFO and SCHED_RR tasks only.
With ``fifo`` the second of two busy tasks of a server on one pCPU never runs;
interrupted in the kernel it can bring a host without CONFIG_RCU_BOOST to a
stand.
"""),
    cfg.IntOpt(
        'guest_priority', default=defaults.GUEST_PRIORITY, min=1, max=99,
        help="""
The priority that goes with ``guest_policy`` (nova-compute), and on mainline
RT_GROUP_SCHED the lowest.  There priorities are compared across groups: keep
it above every other real-time task that may run on the reserved pCPUs.
"""),
    cfg.IntOpt(
        'guest_priority_max', default=defaults.GUEST_PRIORITY_MAX,
        min=1, max=99,
        help="""
The highest priority of a server (nova-compute).  On mainline RT_GROUP_SCHED,
which knows no deadlines, the server with the shorter period must have the
higher priority, or servers of one pCPU take each other's share.  The periods
of 1 ms to 4.2 s are spread over the priorities from ``guest_priority`` to this
one; the fewer there are, the more servers share one, and the fewer fit on a
pCPU.  Other kernel interfaces do not need it.
"""),
    cfg.ListOpt(
        'drop_capabilities', default=['sys_nice', 'sys_resource'],
        item_type=types.String(choices=_CAPABILITIES),
        help="""
The capabilities that every container gives up, reserved or not, by libvirt's
names, in lower case without ``cap_`` (nova-compute).  With ``sys_nice`` root
of a container could raise its own real-time priority above that of its
neighbours or become SCHED_DEADLINE, and with ``sys_resource`` it could allow
itself the former (RLIMIT_RTPRIO).  Without them nothing in an image can become
real-time by itself, raise its priority or use a negative nice value (``chrt``,
``CPUSchedulingPolicy=`` and ``Nice=`` of systemd), change the scheduling or
the CPUs of processes of other users, or raise hard limits (``ulimit -H``).
Empty: containers keep what libvirt leaves them.  A container gets a changed
value when it is started.
"""),
]

ALL_OPTS = TENANT_OPTS + SCHEDULER_OPTS + COMPUTE_OPTS


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register group [nova_rt] on *conf*; may be called again."""
    conf.register_group(_group())
    conf.register_opts(ALL_OPTS, group=GROUP)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """For oslo.config's sample generator."""
    return [(_group(), ALL_OPTS)]


def levels(conf: Any) -> int:
    """The number of priorities that servers may have.

    :raises InvalidConfiguration: the highest is below the lowest
    """
    lowest = conf.nova_rt.guest_priority
    highest = conf.nova_rt.guest_priority_max
    if highest < lowest:
        raise exception.InvalidConfiguration(
            option='guest_priority_max', value=highest,
            rule=f'it must be at least guest_priority, which is {lowest}')
    return int(highest - lowest + 1)


def ppm(share: float) -> int:
    """A share of the configuration as ppm: the one place of rounding."""
    return round(share * reservation.PPM)


def limits(conf: Any) -> reservation.Limits:
    """The operator's rules for flavors and hints."""
    group = conf.nova_rt
    return reservation.Limits(
        min_runtime_us=group.min_runtime_us,
        min_period_us=group.min_period_us,
        max_period_us=group.max_period_us,
        max_bandwidth=ppm(group.max_share),
        hint_override=reservation.HintOverride(group.hint_override),
        plain_hints=group.hints_on_plain_flavors)
