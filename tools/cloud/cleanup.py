# SPDX-License-Identifier: Apache-2.0

"""Removes the mounts, loop devices and cgroups that guests leave behind.

The module removes only parts of the cloud: files below the directory of the
cloud, and groups that were made after its start.  Other modules have ended the
processes and the domains before.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence

from cloud import settings

CGROUPS = pathlib.Path('/sys/fs/cgroup')
_PATIENCE_S = 10
# Directories whose contents are worthless without a running libvirtd.
LIBVIRT_DIRECTORIES = tuple(map(pathlib.Path, (
    '/run/libvirt', '/var/cache/libvirt', '/var/lib/libvirt',
    '/var/log/libvirt')))


def remember(cloud: settings.Settings) -> None:
    """Records libvirt's directories and files that exist before it runs."""
    record = _record(cloud)
    if not record.exists():
        existing = [str(path) for path in _made_by_libvirt()]
        record.write_text(json.dumps(existing))


def remove_libvirt_traces(cloud: settings.Settings) -> None:
    """Removes what libvirt has created since then; libvirt must have ended."""
    record = _record(cloud)
    if not record.exists():
        return
    before = set(json.loads(record.read_text()))
    for path in _made_by_libvirt():
        if str(path) in before:
            continue
        if path.is_relative_to(CGROUPS):
            remove_cgroup(path)
        elif path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _record(cloud: settings.Settings) -> pathlib.Path:
    return cloud.run / 'existed-before.json'


def _made_by_libvirt() -> list[pathlib.Path]:
    """Returns libvirt's directories and files, and all of its cgroups."""
    # The name of a domain's own directory begins with domain-NUMBER.
    domain = f'*{settings.DOMAIN_PREFIX}*'
    return [
        *CGROUPS.glob('machine'), *CGROUPS.glob('*/machine'),
        *(path for directory in LIBVIRT_DIRECTORIES
          for path in (*directory.glob(f'*/{domain}'), directory)
          if path.exists())]


def remove_cgroup(root: pathlib.Path) -> None:
    """Removes a control group and all groups below it without tasks.

    The kernel counts the budget of a removed group until the last task of the
    group has ended, and this task needs the budget to end.  So the function
    takes only the budget of the root, after the kernel has forgotten the other
    groups.  A group that cannot be removed keeps its budget, because nobody
    could give the budget back later.
    """
    for directory, _, _ in os.walk(root, topdown=False):
        # A group in use is not ours.
        with contextlib.suppress(OSError):
            if directory == str(root):
                _give_back(root)
            os.rmdir(directory)


def _give_back(group: pathlib.Path) -> None:
    """Takes the budget of a group.

    :raises OSError: when a task is in the group or below
    """
    runtime = group / 'cpu.rt_runtime_us'
    if not runtime.exists():
        return
    end = time.monotonic() + _PATIENCE_S
    while True:
        try:
            runtime.write_text('0')
            return
        except OSError:
            if time.monotonic() > end:
                raise
        time.sleep(0.05)


def unmount(cloud: settings.Settings, inside: Sequence[str] = ()) -> None:
    """Unmounts everything below the cloud's directory, the deepest first."""
    table = _output([*inside, 'cat', '/proc/self/mounts'])
    targets = [line.split()[1] for line in table.splitlines()]
    for target in reversed(_below(targets, cloud.directory)):
        _run([*inside, 'umount', '--lazy', target])


def detach_loops(cloud: settings.Settings) -> None:
    """Detaches the loop devices on files below the cloud's directory."""
    table = _output(['losetup', '--json', '--list', '--output',
                     'NAME,BACK-FILE'])
    devices = json.loads(table)['loopdevices'] if table.strip() else []
    for device in devices:
        if _below([device['back-file'] or ''], cloud.directory):
            _run(['losetup', '--detach', device['name']])


def _below(paths: Iterable[str], directory: pathlib.Path) -> list[str]:
    return [path for path in paths
            if pathlib.Path(path).is_relative_to(directory)]


def _output(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=False)
