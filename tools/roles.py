# SPDX-License-Identifier: Apache-2.0

"""Checks a wheel or an sdist by installing it for each role.

usage: roles.py FILE [VERSION]

Each role gets a clean virtual environment.  The environment must hold only
what the role may have, each command must answer ``--version``, the role's
commands must start, and the samples must be there.  When pip installs nova-rt
beside Nova, pip must not change a package of Nova.
"""

import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

_ROOT = pathlib.Path(__file__).parents[1]
_CONSTRAINTS = _ROOT / 'upper-constraints.txt'
_COMMANDS = ('nova-rt', 'nova-rt-compute', 'nova-rt-manage',
             'nova-rt-monitor', 'nova-rt-status', 'rt-probe', 'tacker-rt')
_HEAVY = frozenset(('numpy', 'nova', 'tacker', 'networkx', 'matplotlib',
                    'opentelemetry-sdk', 'libvirt-python'))
_INSTALL = 'python -m pip install -q --disable-pip-version-check'
_PIP = frozenset(('pip', 'setuptools', 'nova-rt'))
_SAMPLE = str(_ROOT / 'tosca-samples/legacy/paper-5.1.yaml')
_PLAN = ('nova-rt plan --arrival-rate 1000 --service-rate 2000 '
         '--period-us 2000 --target-ms 10 --kernel cbs')


@dataclasses.dataclass(frozen=True, slots=True)
class Role:
    """A role: its extras and what its environment must look like.

    :ivar heavy: which of the packages in _HEAVY the role may have
    :ivar starts: commands that end with status 0
    :ivar lacks: commands that end with status 1 and the words after ``=>``
    :ivar prints: a word that each of *starts* prints
    """

    extras: str
    heavy: frozenset[str] = frozenset()
    starts: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    prints: str = ''


_ROLES = (
    Role('', starts=(
        'rt-probe --help', 'nova-rt --help', 'nova-rt doctor --help',
        'nova-rt monitor --help', 'nova-rt-monitor --help',
        'tacker-rt --help'), lacks=(
        'nova-rt plan => nova-rt[models]',
        'nova-rt interference => nova-rt[models]',
        'nova-rt graph --format dot => nova-rt',
        f'tacker-rt validate {_SAMPLE} => nova-rt[tacker]',
        'nova-rt-compute => where Nova is')),
    Role('nova', lacks=('nova-rt plan => nova-rt[models]',
                        'nova-rt-compute => where Nova is')),
    Role('compute', frozenset(('libvirt-python',)), lacks=(
        'nova-rt plan => nova-rt[models]',)),
    Role('tacker', starts=(f'tacker-rt validate {_SAMPLE}',
                           f'tacker-rt translate {_SAMPLE}')),
    Role('models', frozenset(('numpy',)), starts=(_PLAN,)),
    Role('plot', frozenset(('numpy', 'matplotlib')), starts=(
        f'{_PLAN} --plot plan.png',)),
    Role('monitor', frozenset(('networkx',)), starts=(
        'nova-rt graph --help',)),
    Role('otlp', frozenset(('opentelemetry-sdk',)), starts=(
        'nova-rt-monitor --help',)),
    Role('client', starts=('openstack rt host list --help',
                           'openstack rt server list --help',
                           'openstack rt map --help'), prints='usage'),
    Role('tempest', starts=('tempest list-plugins',), prints='nova_rt'),
)


#: Has to be there before the role "compute", and must not be touched.
_NOVA = ('nova', 'libvirt-python')


class Failure(Exception):
    """The failure of a role."""


def main(path: str, version: str = '') -> int:
    """Checks all roles; returns the exit status."""
    failed = False
    for role in _ROLES:
        name = f'nova-rt[{role.extras}]' if role.extras else 'nova-rt'
        try:
            with tempfile.TemporaryDirectory() as folder:
                count = _check(pathlib.Path(folder), role, path, version)
                size = _megabytes(pathlib.Path(folder))
            print(f'{name}: OK, {count} other packages, {size} MB',
                  flush=True)
        except Failure as error:
            failed = True
            print(f'{name}: {error}', flush=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            _beside_nova(pathlib.Path(folder), path)
        print('nova-rt[compute] beside Nova: OK, no package of Nova was '
              'changed')
    except Failure as error:
        failed = True
        print(f'nova-rt[compute] beside Nova: {error}')
    return int(failed)


def _beside_nova(folder: pathlib.Path, path: str) -> None:
    """Installs the wheel beside Nova.

    :raises Failure: when pip changes a package, or the driver cannot start
    """
    venv.create(folder, with_pip=True)
    _run(folder, f'{_INSTALL} -c {_CONSTRAINTS} {" ".join(_NOVA)}')
    before = _freeze(folder)
    # Without the constraints, as an operator does it.
    _run(folder, f'{_INSTALL} {path}[compute]')
    changed = {line for line in before ^ _freeze(folder)
               if not line.startswith('nova-rt')}
    if changed:
        raise Failure(f'pip changes {", ".join(sorted(changed))}')
    for module in ('nova_rt.services.virt.libvirt.driver',
                   'nova_rt.services.api.middleware',
                   'nova_rt.services.scheduler.filters.rt_share_filter',
                   'rt_weighers.rt_interference_weigher'):
        _run(folder, f'python -W ignore -m {module}')
    for command in ('nova-rt-manage --help', 'nova-rt-status --help'):
        _run(folder, command)


def _freeze(folder: pathlib.Path) -> set[str]:
    """Returns lines like numpy==2.0."""
    return set(_run(folder, 'python -m pip list --format freeze '
                    '--disable-pip-version-check').splitlines())


def _check(folder: pathlib.Path, role: Role, path: str, version: str) -> int:
    """Returns how many packages the role has beside nova-rt.

    :raises Failure: something is not as it should be
    """
    venv.create(folder, with_pip=True)
    target = f'{path}[{role.extras}]' if role.extras else path
    _run(folder, f'{_INSTALL} -c {_CONSTRAINTS} {target}')
    packages = {re.split('[= ]', line)[0].lower()
                for line in _freeze(folder)} - _PIP
    excess = packages & _HEAVY - role.heavy
    if excess or not role.extras and packages:
        raise Failure(f'it installs {", ".join(sorted(excess or packages))}')
    for command in _COMMANDS:
        printed = _run(folder, f'{command} --version').strip()
        if printed != f'{command} {version}' and version:
            raise Failure(f'{command} --version prints {printed}')
    for command in role.starts:
        if role.prints not in _run(folder, command):
            raise Failure(f'{command} does not print {role.prints}')
    for line in role.lacks:
        command, _, words = line.partition(' => ')
        if words not in _run(folder, command, status=1):
            raise Failure(f'{command} does not say "{words}"')
    _files(folder)
    return len(packages)


def _megabytes(folder: pathlib.Path) -> int:
    """Returns what the role adds to an environment, without pip itself."""
    (site,) = folder.glob('lib/python3*/site-packages')
    own = sum(path.stat().st_size for path in site.rglob('*')
              if path.is_file() and not path.relative_to(site).parts[0]
              .startswith(('pip', 'setuptools', '_distutils',
                           'pkg_resources')))
    return round(own / 1e6)


def _files(folder: pathlib.Path) -> None:
    """Checks the files that the wheel installs.

    :raises Failure: when a file is missing, or is in etc
    """
    for name in ('nova-rt.conf', 'rootwrap.d/nova-rt.filters',
                 'systemd/nova-rt-keep.service',
                 'systemd/nova-rt-monitor.service'):
        if not (folder / 'share/nova-rt' / name).is_file():
            raise Failure(f'share/nova-rt/{name} is missing')
    (site,) = folder.glob('lib/python3*/site-packages')
    (record,) = site.glob('nova_rt-*.dist-info/RECORD')
    # Tempest has files of its own there.
    if '../etc/' in record.read_text():
        raise Failure('it installs files in etc')
    if not os.environ.get('NOVA_RT_WITHOUT_BPF') and not list(
            site.glob('rt_monitor/programs/*.bpf.o')):
        raise Failure('it has no eBPF programs')
    (licenses,) = site.glob('nova_rt-*.dist-info/licenses')
    if len(list(licenses.rglob('*.txt'))) < 2:
        raise Failure('it has no texts of the licences')


def _run(folder: pathlib.Path, command: str, status: int = 0) -> str:
    """Returns what a command of the environment prints.

    :raises Failure: the command ends with another status
    """
    name, *arguments = command.split()
    done = subprocess.run(
        [folder / 'bin' / name, *arguments], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False, cwd=folder)
    if done.returncode != status:
        raise Failure(f'{command}: status {done.returncode}: '
                      f'{done.stdout[-2000:]}')
    return done.stdout


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
