#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0

"""Starts and stops packaged services by their unit files, without systemd.

The test installs this program as ``systemctl`` in a tree of Debian.  Of a unit
file the program obeys the commands, the user and group, the environment, the
directories and the umask.
"""

import collections
import os
import pathlib
import pwd
import shlex
import signal
import subprocess
import sys
import time

_UNITS = pathlib.Path('/usr/lib/systemd/system')
_PIDS = pathlib.Path('/run/started')
_LOGS = pathlib.Path('/var/log/started')
_DIRECTORIES = {'RuntimeDirectory': '/run', 'CacheDirectory': '/var/cache'}
#: seconds until a service has to be gone
_PATIENCE = 60


def main(action: str, *names: str) -> None:
    """Starts, stops or restarts services."""
    for name in names:
        if action in {'stop', 'restart'}:
            _stop(_PIDS / name)
        if action in {'start', 'restart'}:
            _start(name, _read(name))


def _read(name: str) -> dict[str, list[str]]:
    """Returns the values of each option of a unit file, in order."""
    text = (_UNITS / f'{name}.service').read_text(encoding='utf-8')
    result = collections.defaultdict(list)
    for line in text.replace('\\\n', '').splitlines():
        option, equals, value = line.partition('=')
        if equals and not line.startswith('#'):
            result[option].append(value)
    return result


def _start(name: str, unit: dict[str, list[str]]) -> None:
    user = pwd.getpwnam((unit['User'] or ['root'])[0])
    for option, parent in _DIRECTORIES.items():
        for each in ' '.join(unit[option]).split():
            path = pathlib.Path(parent, each)
            path.mkdir(parents=True, exist_ok=True)
            os.chown(path, user.pw_uid, user.pw_gid)
    environment = {**os.environ, 'HOME': user.pw_dir, 'USER': user.pw_name}
    for line in unit['Environment']:
        environment.update(each.split('=', 1) for each in shlex.split(line))
    for line in unit['EnvironmentFile']:
        environment.update(_variables(pathlib.Path(line.lstrip('-'))))
    for command in unit['ExecStartPre']:
        subprocess.run(shlex.split(command), check=True)
    for folder in (_PIDS, _LOGS):
        folder.mkdir(exist_ok=True)
    folder = (unit['WorkingDirectory'] or ['/'])[0]
    with (_LOGS / name).open('ab') as log:
        process = subprocess.Popen(
            _words(unit['ExecStart'][0], environment),
            user=user.pw_uid, group=user.pw_gid,
            extra_groups=os.getgrouplist(user.pw_name, user.pw_gid),
            umask=int((unit['UMask'] or ['022'])[0], 8), env=environment,
            cwd=user.pw_dir if folder == '~' else folder,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True)
    (_PIDS / name).write_text(str(process.pid), encoding='ascii')


def _variables(path: pathlib.Path) -> dict[str, str]:
    """Returns the variables of a file; none if there is no file."""
    lines = path.read_text(encoding='utf-8').splitlines() if (
        path.exists()) else []
    return dict(line.split('=', 1) for line in lines
                if '=' in line and not line.startswith('#'))


def _words(command: str, environment: dict[str, str]) -> list[str]:
    """Returns a command with the variables that stand alone replaced."""
    result = []
    for word in shlex.split(command):
        if word.startswith('$'):
            result += shlex.split(environment.get(word[1:], ''))
        else:
            result.append(word)
    return result


def _stop(record: pathlib.Path) -> None:
    if not record.exists():
        return
    pid = int(record.read_text(encoding='ascii'))
    record.unlink()
    try:
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            os.kill(pid, 0)
            time.sleep(0.1)
    except ProcessLookupError:
        return
    os.killpg(pid, signal.SIGKILL)


if __name__ == '__main__':
    main(*sys.argv[1:])
