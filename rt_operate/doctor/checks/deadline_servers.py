# SPDX-License-Identifier: Apache-2.0

"""The deadline servers of the fair and the ext class.

They share a pool with the groups of HCBS kernels, and may take 5 % each.
"""

from collections.abc import Iterator

from nova_rt.machine.host import files as host_files
from nova_rt.rules import reservation
from rt_operate.doctor import findings
from rt_operate.doctor import view as doctor_view

_SERVERS = host_files.DEBUG + '/sched'
_FAIR, _EXT = 'fair_server', 'ext_server'
_EXT_STATE = '/sys/kernel/sched_ext/state'


def fair(view: doctor_view.View) -> Iterator[findings.Finding]:
    yield _server(view, _FAIR)


def ext(view: doctor_view.View) -> Iterator[findings.Finding]:
    yield _server(view, _EXT)


def fair_share(host: host_files.Host) -> int:
    """What ordinary tasks are sure to get of each pCPU, in ppm.

    :returns: 0 too where it cannot be seen
    """
    path = f'{_SERVERS}/{_FAIR}'
    try:
        return _taken(host, path)
    except (OSError, ValueError):
        return 0


def unseen(view: doctor_view.View, name: str, what: str, why: str
           ) -> findings.Finding:
    """A finding on what debugfs does not show."""
    text = f'{what} cannot be told: {why}'
    if view.by_timer:
        return findings.warning(
            name, f'{text}.', 'Look as root at a mounted debugfs, or boot '
            'without lockdown=confidentiality.')
    return findings.ok(name, f'{text}; nothing here depends on it.')


def blind(host: host_files.Host, path: str) -> str:
    """Why debugfs does not show *path*; '' where it just has it not."""
    if not any(kind == 'debugfs' for _, kind, _ in host.mounts()):
        return f'debugfs is not mounted at {host_files.DEBUG}'
    try:
        host.names(path)
    except FileNotFoundError:
        return ''
    except NotADirectoryError:
        return _unread(host, path)
    except OSError as error:
        return f'{path}: {host_files.why(error)}'
    return ''


def _unread(host: host_files.Host, path: str) -> str:
    try:
        host.read(path)
    except OSError as error:
        return f'{path}: {host_files.why(error)}'
    return ''


def _server(view: doctor_view.View, kind: str) -> findings.Finding:
    name = f'servers.{kind.partition("_")[0]}'
    path = f'{_SERVERS}/{kind}'
    why = blind(view.host, path)
    if why:
        return unseen(view, name, f'What the {kind} takes', why)
    try:
        ppm = _taken(view.host, path)
    except OSError as error:
        return unseen(view, name, f'What the {kind} takes',
                      f'{error.filename}: {host_files.why(error)}')
    text = (f'The {kind} takes up to {findings.share(ppm)} of each pCPU'
            if ppm else f'There is no {kind}')
    if kind == _EXT and ppm and _idle(view):
        return findings.warning(
            name, f'{text}, though no sched_ext scheduler runs.',
            f'Write 0 to {path}/cpu*/runtime, to have more to reserve.')
    return findings.ok(name, f'{text}.')


def _idle(view: doctor_view.View) -> bool:
    """Whether the ext server only costs."""
    return (view.by_timer
            and view.host.optional(_EXT_STATE) in (None, 'disabled'))


def _taken(host: host_files.Host, path: str) -> int:
    """The largest share on a pCPU, in ppm; 0 where there are none.

    :raises OSError, ValueError: the files cannot be read
    """
    try:
        cpus = host.names(path)
    except FileNotFoundError:
        return 0
    return max((-(-host.number(f'{path}/{cpu}/runtime') * reservation.PPM
                  // max(1, host.number(f'{path}/{cpu}/period')))
                for cpu in cpus if cpu.startswith('cpu')), default=0)


CHECKS: dict[str, doctor_view.Check] = {
    'servers.fair': fair,
    'servers.ext': ext,
}
