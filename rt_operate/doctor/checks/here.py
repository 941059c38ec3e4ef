# SPDX-License-Identifier: Apache-2.0

"""Whether the doctor, and a nova-compute in its place, sees the host."""

from collections.abc import Iterator

from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_SEEN = 'host.seen'


def seen(view: doctor_view.View) -> Iterator[findings.Finding]:
    if view.outside:
        yield findings.problem(
            _SEEN, f'This process does not see the host: {view.outside}.  A '
            f'nova-compute here offers no reservations, and the rest of what '
            f'this command looks at was left out.',
            'Run both in the namespaces of the host, with its '
            '/sys/fs/cgroup.')
    else:
        yield findings.ok(_SEEN, 'This process sees the tasks and control '
                          'groups of the host.')


def writable(view: doctor_view.View) -> Iterator[findings.Finding]:
    if view.outside or view.hierarchy is None:
        return
    mount = view.hierarchy.mount
    options = [options for point, _, options in view.host.mounts()
               if point == mount]
    if 'ro' in options[-1].split(','):
        yield findings.problem(
            'host.writable', f'{mount} is mounted read-only here: a '
            f'nova-compute here cannot reserve anything.',
            'Mount it for writing; in a container as a volume without ro.')


CHECKS: dict[str, doctor_view.Check] = {
    _SEEN: seen,
    'host.writable': writable,
}
