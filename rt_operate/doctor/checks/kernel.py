# SPDX-License-Identifier: Apache-2.0

"""Which kernel interface there is, and why there is none."""

from collections.abc import Iterator
import zlib

from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import survey
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_ID = 'kernel.interface'
_PATCHED = 'or run a kernel with HCBS'
_LEGACY = ('boot with systemd.unified_cgroup_hierarchy=0 (systemd 256 also '
           'wants SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1, 258 cannot) and '
           'rt_group_sched=1, ' + _PATCHED)


def config(host: host_files.Host) -> dict[str, str] | None:
    """What the kernel was built with; None where it does not tell."""
    for path in ('/proc/config.gz', f'/boot/config-{host.release}'):
        try:
            lines = host.unzipped(path).splitlines()
        except (OSError, EOFError, zlib.error):
            continue
        return dict(line.split('=', 1) for line in lines
                    if line.startswith('CONFIG_') and '=' in line)
    return None


def rt_group_sched(host: host_files.Host) -> bool | None:
    """Whether the kernel was built with it; None where it does not tell."""
    found = config(host)
    if found is None:
        return None
    return found.get('CONFIG_RT_GROUP_SCHED') == 'y'


def interface(view: doctor_view.View) -> Iterator[findings.Finding]:
    found = view.detection
    if found.trouble:
        yield findings.problem(
            _ID, f'The kernel interface cannot be told: {found.trouble}.',
            'Correct what is named there, or set [nova_rt] '
            'kernel_interface.')
    elif found.deadline:
        why = ('forced by [nova_rt] kernel_interface'
               if view.options.kernel_interface
               else 'the kernel has no budgets for groups')
        yield findings.ok(
            _ID, f'{found.name}: vCPU threads of virtual machines become '
                 f'SCHED_DEADLINE, each on its pCPU if nova-compute, which '
                 f'tries it at its start, finds that the kernel keeps them '
                 f'there; containers have no reservations ({why}).')
    elif found.interface is None or view.hierarchy is None:
        yield _nothing(view)
    else:
        version = 1 if view.hierarchy.controller else 2
        yield findings.ok(
            _ID, f'{found.interface.label} {found.interface.name}: '
                 f'{found.file} on cgroup v{version} at '
                 f'{view.hierarchy.mount} ({found.how}).')


def forced(view: doctor_view.View) -> Iterator[findings.Finding]:
    found, name = view.detection, view.options.kernel_interface
    if name and found.interface and found.seen != name:
        yield findings.warning(
            'kernel.forced',
            f'[nova_rt] kernel_interface is {name}, but the kernel looks '
            f'like {found.seen or "none that is known"}.',
            'Unset it, so that nova-compute probes the kernel, unless you '
            'know better.')


def _nothing(view: doctor_view.View) -> findings.Finding:
    if view.hierarchy is None:
        return _missing('the cpu controller is mounted nowhere',
                        'Mount the cgroup cpu controller.')
    if view.detection.file:
        return findings.warning(
            _ID, f'The kernel has {view.detection.file}, but no group below '
                 f'the root shows which version it is{_not_handed_on(view)}.',
            'Start nova-compute, which asks a scratch group, or set '
            '[nova_rt] kernel_interface.')
    return _missing(*(_on_v1 if view.hierarchy.controller else _on_v2)(
        view.host))


def _not_handed_on(view: doctor_view.View) -> str:
    """Why no group of cgroup v2 has files of the controller at all."""
    words = view.host.optional(view.path('/', survey.SUBTREE))
    if words is None or 'cpu' in words.split():
        return ''
    return f': {survey.SUBTREE} of the root lacks cpu'


def _missing(why: str, remedy: str) -> findings.Finding:
    return findings.problem(
        _ID, f'The kernel offers no interface for reservations: {why}.',
        remedy)


def _on_v2(host: host_files.Host) -> tuple[str, str]:
    built = rt_group_sched(host)
    why = ('the cpu controller is on cgroup v2, where mainline has no file '
           'for it')
    if built is False:
        return (f'{why}, and the kernel was built without '
                'CONFIG_RT_GROUP_SCHED',
                'Run a kernel with HCBS, or virtual machines ([libvirt] '
                'virt_type), which become SCHED_DEADLINE.')
    return why, f'{_LEGACY[0].upper()}{_LEGACY[1:]}.'


def _on_v1(host: host_files.Host) -> tuple[str, str]:
    built = rt_group_sched(host)
    words = host.read('/proc/cmdline').split()
    asked = 'rt_group_sched=1' in words
    off = (config(host) or {}).get(
        'CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED') == 'y'
    if built is False:
        return ('it was built without CONFIG_RT_GROUP_SCHED',
                f'Run a kernel with CONFIG_RT_GROUP_SCHED=y, {_PATCHED}.')
    if 'rt_group_sched=0' in words:
        return ('it was booted with rt_group_sched=0',
                'Boot with rt_group_sched=1.')
    if off and not asked:
        return ('it has CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y and was '
                'booted without rt_group_sched=1',
                'Boot with rt_group_sched=1.')
    if built is None:
        return (f'neither /proc/config.gz nor /boot/config-{host.release} '
                f'can be read to tell whether it was built without '
                f'CONFIG_RT_GROUP_SCHED',
                f'Run a kernel with CONFIG_RT_GROUP_SCHED=y, {_PATCHED}.')
    return ('it was built with CONFIG_RT_GROUP_SCHED=y, but the groups on '
            'cgroup v1 lack cpu.rt_runtime_us',
            'Some HCBS kernels have it on cgroup v2 only: boot with '
            'systemd.unified_cgroup_hierarchy=1.')


CHECKS: dict[str, doctor_view.Check] = {
    _ID: interface,
    'kernel.forced': forced,
}
