# SPDX-License-Identifier: Apache-2.0

"""The places in which the campaign starts rt-probe.

A place is a control group of cgroup v1 with a load in it, and a way to start
the probe beside the load.  The truth is what the kernel accounts to the group,
read from outside.
"""

from collections.abc import Iterator, Sequence
import contextlib
import dataclasses
import os
import pathlib
import sys
import tempfile

from nova_rt.machine.trial import temporary
from paper.probe import stage as rt_stage

_MOUNT = pathlib.Path('/sys/fs/cgroup')
_TREES = ('cpu', 'cpuacct')
#: Only the own part of each hierarchy is mounted, as in a container.
INSIDE = '''\
set -e
mount -t tmpfs none /sys/fs/cgroup
for tree in cpu cpuacct; do
    mkdir /sys/fs/cgroup/$tree
    mount -t cgroup -o $tree none /sys/fs/cgroup/$tree
done
exec "$@"
'''
CONTAINER = ('unshare', '--mount', '--cgroup', '--pid', '--fork',
             '--mount-proc', '--kill-child', 'sh', '-c', INSIDE, 'sh')
# Less than root may ask for by itself, where a machine has low limits.
_LIMITS = ('nofile=1024:1024', 'nproc=1024:1024')
_PODMAN = ('podman', '--cgroup-manager', 'cgroupfs', 'run', '--rm', '--quiet',
           '--network', 'none', '--security-opt', 'seccomp=unconfined',
           *(word for limit in _LIMITS for word in ('--ulimit', limit)))


@dataclasses.dataclass
class Place:
    """A place where the probe runs.

    :ivar prefix: starts a command there
    :ivar group: the group whose CPU time is the truth
    :ivar limit: what the group gets at most, in CPUs; None: nobody knows
    :ivar options: further options of the probe
    :ivar python: the interpreter there
    """

    prefix: Sequence[str]
    group: pathlib.Path
    limit: float | None = None
    options: Sequence[str] = ()
    python: str = sys.executable

    def used_ns(self) -> int:
        """Returns the CPU time of the group, as read from outside."""
        return int((self.group / 'cpuacct.usage').read_text())


@contextlib.contextmanager
def groups(*names: str) -> Iterator[None]:
    """Makes groups in both hierarchies; the outermost first."""
    paths = [_MOUNT / tree / name for name in names for tree in _TREES]
    # The reaper removes the innermost groups first.
    with temporary.reaped(paths[::-1]):
        for path in paths:
            path.mkdir(parents=True, exist_ok=True)
        try:
            yield
        finally:
            for name in names:
                _remove_inner(name)


def _remove_inner(name: str) -> None:
    """Removes the groups that podman left in a group, in all hierarchies."""
    for top in _MOUNT.glob(f'*/{name}'):
        inner = sorted(top.rglob('*/'), reverse=True)
        for path in inner if top.parent.name in _TREES else [*inner, top]:
            with contextlib.suppress(OSError):
                path.rmdir()


def put(name: str, pid: int, trees: Sequence[str] = _TREES) -> None:
    """Puts a process into a group."""
    for tree in trees:
        (_MOUNT / tree / name / 'cgroup.procs').write_text(str(pid))


def quota(name: str, share: float, period_us: int) -> None:
    """Gives a group a limit for ordinary tasks."""
    path = _MOUNT / 'cpu' / name
    (path / 'cpu.cfs_period_us').write_text(str(period_us))
    (path / 'cpu.cfs_quota_us').write_text(str(round(share * period_us)))


def weigh(name: str, shares: int) -> None:
    """Lets a group compete with others by this weight."""
    (_MOUNT / 'cpu' / name / 'cpu.shares').write_text(str(shares))


def entering(name: str, inner: Sequence[str] = (),
             trees: Sequence[str] = _TREES) -> Sequence[str]:
    """Returns the prefix that starts a command in a group."""
    enter = '; '.join(f'echo $$ > {_MOUNT}/{tree}/{name}/cgroup.procs'
                      for tree in trees)
    return ('sh', '-c', f'{enter}; exec "$@"', 'sh', *inner)


def accounting(name: str) -> pathlib.Path:
    """Returns the directory in which the CPU time of a group is read."""
    return _MOUNT / 'cpuacct' / name


@contextlib.contextmanager
def loads(name: str, parts: Sequence[float],
          trees: Sequence[str] = _TREES) -> Iterator[None]:
    """Runs a load for each part of a CPU that a group is to want."""
    with contextlib.ExitStack() as stack:
        for part in parts:
            put(name, stack.enter_context(rt_stage.task(part)).pid, trees)
        yield


@contextlib.contextmanager
def podman(python: str, name: str, *options: str) -> Iterator[Sequence[str]]:
    """Yields the prefix that starts a command in a container of podman.

    The image is an empty folder: the programs of this machine, and the folders
    of *python* and of temporary files, are mounted into it.
    """
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        for folder in ('usr', 'proc', 'sys', 'dev', 'tmp', 'etc', 'run'):
            (root / folder).mkdir()
        for link in ('lib', 'lib64', 'bin'):
            os.symlink(f'usr/{link}', root / link)
        yield (*_PODMAN, '--name', name, *options, *_volumes(python),
               '--rootfs', str(root))


def _volumes(python: str) -> Iterator[str]:
    base = pathlib.Path(python).resolve().parent.parent
    for folder in dict.fromkeys(('/usr', str(base), tempfile.gettempdir())):
        yield from ('--volume', f'{folder}:{folder}:ro')
