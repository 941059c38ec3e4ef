# SPDX-License-Identifier: Apache-2.0

"""Checks which kernel interface the host has, or why it has none."""

from collections.abc import Iterator
import zlib

from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import survey
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_ID = 'kernel.interface'
_PATCHED = 'or run a kernel with HCBS'
_FIND_OUT = ('Start nova-compute, which finds the interface by a scratch '
             'group, or set [nova_rt] kernel_interface.')
_LEGACY = ('boot with systemd.unified_cgroup_hierarchy=0 (systemd 256 also '
           'needs SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1, systemd 258 cannot '
           'do this) and '
           'rt_group_sched=1, ' + _PATCHED)


def config(host: host_files.Host) -> dict[str, str] | None:
    """Returns the build options of the kernel; None if they are unknown."""
    for path in ('/proc/config.gz', f'/boot/config-{host.release}'):
        try:
            lines = host.unzipped(path).splitlines()
        except (OSError, EOFError, zlib.error):
            continue
        return dict(line.split('=', 1) for line in lines
                    if line.startswith('CONFIG_') and '=' in line)
    return None


def rt_group_sched(host: host_files.Host) -> bool | None:
    """Tells whether the kernel has CONFIG_RT_GROUP_SCHED=y.

    :returns: None if the build options of the kernel are unknown
    """
    build_options = config(host)
    if build_options is None:
        return None
    return build_options.get('CONFIG_RT_GROUP_SCHED') == 'y'


def interface(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Shows the kernel interface, or why there is none."""
    detection = view.detection
    if detection.trouble:
        yield findings.problem(
            _ID, f'The kernel interface is not known: {detection.trouble}.',
            'Correct the cause that this message names, or set [nova_rt] '
            'kernel_interface.')
    elif detection.deadline:
        why = ('forced by [nova_rt] kernel_interface'
               if view.options.kernel_interface
               else 'the kernel gives no budgets to groups')
        yield findings.ok(
            _ID, f'{detection.name}: vCPU threads of virtual machines become '
                 'SCHED_DEADLINE, and nova-compute pins each thread to its '
                 'pCPU if a trial at the start of nova-compute shows that the '
                 'kernel permits this; containers have no reservations '
                 f'({why}).')
    elif detection.interface is None or view.hierarchy is None:
        yield _nothing(view)
    else:
        version = 1 if view.hierarchy.controller else 2
        yield findings.ok(
            _ID, f'{detection.interface.label} {detection.interface.name}: '
                 f'{detection.file} on cgroup v{version} at '
                 f'{view.hierarchy.mount} ({detection.how}).')


def forced(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether kernel_interface names the interface of this kernel."""
    detection, name = view.detection, view.options.kernel_interface
    if name and detection.interface and detection.seen != name:
        yield findings.warning(
            'kernel.forced',
            f'[nova_rt] kernel_interface is {name}, but the kernel seems to '
            f'have {detection.seen or "no interface that nova-rt knows"}.',
            'Unset kernel_interface, so that nova-compute probes the kernel, '
            'unless you are sure that the kernel has this interface.')


def boost(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether the kernel may make an ordinary task real-time.

    In a group without a runtime, such a task never runs again.  The authors of
    HCBS list this problem as unresolved; with the first patches, a host
    panicked.
    """
    if view.interface is None or not view.interface.deadline_servers:
        return
    build_options = config(view.host) or {}
    lenders = [name for name in ('CONFIG_PREEMPT_RT', 'CONFIG_RCU_BOOST')
               if build_options.get(name) == 'y']
    if lenders:
        yield findings.warning(
            'kernel.boost', f'The kernel has {" and ".join(lenders)}: it '
            f'makes an ordinary task real-time while a real-time task waits '
            f'for it.  In a group without a runtime, such as a container '
            f'without a reservation, the ordinary task then never runs, and '
            f'the host may hang.',
            'Run an HCBS kernel that was built without these options.')


def _nothing(view: doctor_view.View) -> findings.Finding:
    if view.hierarchy is None:
        return _missing('the cgroup cpu controller is not mounted',
                        'Mount the cgroup cpu controller.')
    if view.detection.file:
        return findings.warning(
            _ID, f'The kernel has {view.detection.file}, but no group below '
                 f'the root group shows which interface it belongs to'
                 f'{_not_handed_on(view)}.', _FIND_OUT)
    if view.hierarchy.controller:
        return _missing(*_on_v1(view.host))
    if _not_handed_on(view) and rt_group_sched(view.host) is not False:
        # Some kernels have the files of budgets only below the root group.
        return findings.warning(
            _ID, f'No group shows whether the kernel has budgets for groups'
                 f'{_not_handed_on(view)}.', _FIND_OUT)
    return _missing(*_on_v2(view.host))


def _not_handed_on(view: doctor_view.View) -> str:
    """Returns why no group of cgroup v2 has files of the controller."""
    words = view.host.optional(view.path('/', survey.SUBTREE))
    if words is None or 'cpu' in words.split():
        return ''
    return f': {survey.SUBTREE} of the root group lacks cpu'


def _missing(why: str, remedy: str) -> findings.Finding:
    return findings.problem(
        _ID, f'The kernel offers no interface for reservations: {why}.',
        remedy)


def _on_v2(host: host_files.Host) -> tuple[str, str]:
    with_option = rt_group_sched(host)
    why = ('the cpu controller is on cgroup v2, where a mainline kernel has '
           'no files for real-time budgets')
    if with_option is False:
        return (f'{why}, and the kernel was built without '
                'CONFIG_RT_GROUP_SCHED',
                'Run a kernel with HCBS, or run virtual machines ([libvirt] '
                'virt_type), whose vCPUs become SCHED_DEADLINE.')
    return why, f'{_LEGACY[0].upper()}{_LEGACY[1:]}.'


def _on_v1(host: host_files.Host) -> tuple[str, str]:
    with_option = rt_group_sched(host)
    words = host.read('/proc/cmdline').split()
    enabled = 'rt_group_sched=1' in words
    disabled_by_default = (config(host) or {}).get(
        'CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED') == 'y'
    if with_option is False:
        return ('the kernel was built without CONFIG_RT_GROUP_SCHED',
                f'Run a kernel with CONFIG_RT_GROUP_SCHED=y, {_PATCHED}.')
    if 'rt_group_sched=0' in words:
        return ('the kernel was booted with rt_group_sched=0',
                'Boot with rt_group_sched=1.')
    if disabled_by_default and not enabled:
        return ('the kernel has CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y and '
                'was booted without rt_group_sched=1',
                'Boot with rt_group_sched=1.')
    if with_option is None:
        return (f'neither /proc/config.gz nor /boot/config-{host.release} '
                f'can be read to see whether the kernel was built without '
                f'CONFIG_RT_GROUP_SCHED',
                f'Run a kernel with CONFIG_RT_GROUP_SCHED=y, {_PATCHED}.')
    return ('the kernel was built with CONFIG_RT_GROUP_SCHED=y, but the '
            'groups on cgroup v1 lack cpu.rt_runtime_us',
            'Some HCBS kernels have this file only on cgroup v2: boot with '
            'systemd.unified_cgroup_hierarchy=1.')


CHECKS: dict[str, doctor_view.Check] = {
    _ID: interface,
    'kernel.forced': forced,
    'kernel.boost': boost,
}
