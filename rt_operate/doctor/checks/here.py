# SPDX-License-Identifier: Apache-2.0

"""Checks whether this process sees the host, as nova-compute has to."""

from collections.abc import Iterator

from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_SEEN = 'host.seen'


def host_is_visible(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether this process sees the tasks and groups of the host."""
    if view.outside:
        yield findings.problem(
            _SEEN, f'This process does not see the host: {view.outside}.  '
            f'nova-compute offers no reservations if it runs in the same '
            f'place.  Checks that need to see the host were left out.',
            'Run nova-compute and this command in the namespaces of the '
            'host, with its /sys/fs/cgroup.')
    else:
        yield findings.ok(_SEEN, 'This process sees the tasks and control '
                          'groups of the host.')


def writable(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks whether the groups of the host can be written."""
    if view.outside or view.hierarchy is None:
        return
    mount = view.hierarchy.mount
    options = [options for point, _, options in view.host.mounts()
               if point == mount]
    if 'ro' in options[-1].split(','):
        yield findings.problem(
            'host.writable', f'{mount} is mounted read-only here: '
            'nova-compute cannot reserve anything if nova-compute runs in the '
            'same place.',
            f'Mount {mount} for writing; in a container, as a volume '
            f'without ro.')


CHECKS: dict[str, doctor_view.Check] = {
    _SEEN: host_is_visible,
    'host.writable': writable,
}
