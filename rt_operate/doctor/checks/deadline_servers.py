# SPDX-License-Identifier: Apache-2.0

"""Checks the deadline servers of the fair and the ext class.

Deadline servers share the bandwidth of a pCPU with the groups of HCBS kernels,
and each takes 5 % by default.
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
    """Shows what the fair_server takes from each pCPU."""
    yield _server(view, _FAIR)


def ext(view: doctor_view.View) -> Iterator[findings.Finding]:
    """Checks that an ext_server without users takes no bandwidth."""
    yield _server(view, _EXT)


def fair_share(host: host_files.Host) -> int:
    """Returns the share of each pCPU that ordinary tasks surely get, in ppm.

    :returns: the share; 0 also if the share cannot be read
    """
    path = f'{_SERVERS}/{_FAIR}'
    try:
        return _taken(host, path)
    except (OSError, ValueError):
        return 0


def unseen(view: doctor_view.View, name: str, subject: str, why: str
           ) -> findings.Finding:
    """Returns a finding about a value that debugfs does not show.

    :param subject: the subject of the sentence
    :param why: the reason, as a clause
    """
    text = f'{subject} is not known: {why}'
    if view.by_timer:
        return findings.warning(
            name, f'{text}.', 'Mount debugfs and run this command as root; '
            'if the kernel is locked down, boot without '
            'lockdown=confidentiality.')
    return findings.ok(
        name, f'{text}; reservations on this host do not depend on this '
              'value.')


def blind(host: host_files.Host, path: str) -> str:
    """Returns why debugfs does not show *path*.

    :returns: '' where debugfs can be read and has no such file
    """
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
        return unseen(view, name, f'The share of the {kind}', why)
    try:
        ppm = _taken(view.host, path)
    except OSError as error:
        return unseen(view, name, f'The share of the {kind}',
                      f'{error.filename}: {host_files.why(error)}')
    text = (f'The {kind} takes up to {findings.share(ppm)} of each pCPU'
            if ppm else f'There is no {kind}')
    if kind == _EXT and ppm and _idle(view):
        return findings.warning(
            name, f'{text}, though no sched_ext scheduler runs.',
            f'Write 0 to {path}/cpu*/runtime to make this share available to '
            f'reservations.')
    return findings.ok(name, f'{text}.')


def _idle(view: doctor_view.View) -> bool:
    """Tells whether the ext_server takes bandwidth that nobody uses."""
    return (view.by_timer
            and view.host.optional(_EXT_STATE) in (None, 'disabled'))


def _taken(host: host_files.Host, path: str) -> int:
    """Returns the largest share on a pCPU, in ppm; 0 without a server.

    :raises OSError, ValueError: when the files cannot be read
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
