# SPDX-License-Identifier: Apache-2.0

"""Brings the cloud up, takes it down, restarts Nova: the order of the steps.

The modules imported here do the steps.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from cloud import cleanup
from cloud import config
from cloud import images
from cloud import kept
from cloud import libvirtd
from cloud import processes
from cloud import settings
from cloud import web

START_PATIENCE = 180
#: How often to check; a check is work, too, where everything is slow.
_POLL_SECONDS = 0.2
LIBVIRTD_PATIENCE = 20
# No process is worth a long wait when everything is removed.
DOWN_PATIENCE = 2
# Longer than Nova's own limit, see nova_aio.py.
RESTART_PATIENCE = 8
TAIL_LINES = 20


class PartFailed(Exception):
    """A part of the cloud did not start."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f'{name} {reason}')
        self.name = name


class Progress:
    """Prints a line for each step, with the seconds since the start."""

    def __init__(self) -> None:
        self.started = time.monotonic()

    def say(self, text: str) -> None:
        """Prints a line."""
        seconds = time.monotonic() - self.started
        print(f'[{seconds:5.1f} s] {text}', flush=True)


def process(cloud: settings.Settings, service: str) -> processes.Process:
    """Returns the record of a service's process."""
    return processes.Process(cloud.run / f'{service}.pid')


def running(cloud: settings.Settings) -> list[str]:
    """Returns the services that run."""
    return [service for service in settings.SERVICES
            if process(cloud, service).pid]


def up(cloud: settings.Settings, overrides: Sequence[str]) -> None:
    """Starts every part that does not run."""
    progress = Progress()
    cloud.directory.mkdir(parents=True, exist_ok=True)
    with lock(cloud):
        before = running(cloud)
        if len(before) == len(settings.SERVICES):
            if overrides:
                raise PartFailed('nova', 'already runs; use restart --set')
            progress.say('the cloud is already up')
            return
        try:
            _start_missing(cloud, overrides, progress)
        except BaseException as error:
            _give_up(cloud, before, error, progress)
            raise
        progress.say('ready: eval "$(tools/cloud.sh env)"')


def _start_missing(cloud: settings.Settings, overrides: Sequence[str],
                   progress: Progress) -> None:
    prepare(cloud, overrides)
    missing = [service for service in settings.SERVICES
               if not process(cloud, service).pid]
    _start(cloud, missing)
    _wait_ready(cloud, missing, progress)
    images.upload(cloud)
    progress.say('images stored')


def prepare(cloud: settings.Settings, overrides: Sequence[str]) -> None:
    """Writes the configuration and makes the directories, if none exist."""
    if cloud.nova_conf.exists():
        config.override(cloud, overrides)
    else:
        _set_aside(cloud)
        config.render(cloud, overrides)
    for directory in (cloud.log, cloud.run, cloud.data):
        directory.mkdir(exist_ok=True)
    cleanup.remember(cloud)
    cloud.save()


def _set_aside(cloud: settings.Settings) -> None:
    """Moves the logs of the last cloud to where the next cloud keeps them."""
    if cloud.log.exists():
        shutil.rmtree(cloud.old_log, ignore_errors=True)
        cloud.log.rename(cloud.old_log)


def _start(cloud: settings.Settings, services: Sequence[str]) -> None:
    inside: list[str] = []
    if 'nova' in services:
        inside = libvirtd.inside(_libvirtd(cloud))
    _fork(cloud, services, inside)


def _fork(cloud: settings.Settings, words: Sequence[str],
          prefix: Sequence[str] = ()) -> None:
    """Runs forks.py, which ends when the services are started."""
    command = [*prefix, sys.executable, '-m', 'cloud.forks', *words]
    with cloud.log_file('forks').open('ab') as log:
        done = subprocess.run(command, env=cloud.environment(),
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    if done.returncode:
        raise PartFailed('forks', f'failed with status {done.returncode}')


def keep_databases(cloud: settings.Settings) -> None:
    """Makes the databases that later clouds copy, without a cloud."""
    progress = Progress()
    cloud.directory.mkdir(parents=True, exist_ok=True)
    with lock(cloud):
        if cloud.is_saved or kept.is_complete(cloud):
            progress.say('the databases are kept already')
            return
        prepare(cloud, ())
        try:
            _fork(cloud, [kept.OPTION, *settings.SERVICES])
        except PartFailed:
            for service in settings.SERVICES:
                show_tail(cloud, service)
            raise
        finally:
            clear(cloud, False)
    progress.say('the databases are kept')


def _libvirtd(cloud: settings.Settings) -> int:
    if (pid := libvirtd.running_pid()) is not None:
        if other := libvirtd.foreign_cloud(cloud, pid):
            raise PartFailed('libvirtd', f'belongs to the cloud in {other}; '
                             'a machine can have only one')
        return pid
    libvirtd.start(cloud)
    try:
        return libvirtd.wait(cloud, settings.patience(LIBVIRTD_PATIENCE))
    except TimeoutError as error:
        raise PartFailed('libvirtd', str(error)) from error


def _wait_ready(cloud: settings.Settings, services: Sequence[str],
                progress: Progress) -> None:
    deadline = time.monotonic() + settings.patience(
        START_PATIENCE)
    pending = list(services)
    while pending:
        time.sleep(settings.patience(_POLL_SECONDS))
        processes.reap()
        for service in list(pending):
            if web.answers(cloud.url(service)):
                pending.remove(service)
                progress.say(f'{service} answers on {cloud.url(service)}')
            elif process(cloud, service).pid is None:
                raise PartFailed(service, 'has ended')
        if pending and time.monotonic() > deadline:
            raise PartFailed(pending[0], 'does not answer')


def _give_up(cloud: settings.Settings, before: Sequence[str],
             error: BaseException, progress: Progress) -> None:
    """Shows the log of the part that failed, and ends the other parts."""
    if isinstance(error, PartFailed):
        show_tail(cloud, error.name)
    if not before:
        _take_down(cloud, True, progress)
        return
    processes.end([process(cloud, service) for service in settings.SERVICES
                   if service not in before], DOWN_PATIENCE)


def show_tail(cloud: settings.Settings, name: str) -> None:
    """Shows the end of a log."""
    log = cloud.log_file(name)
    if log.exists():
        print(f'The end of {log}:', file=sys.stderr)
        lines = log.read_text(errors='replace').splitlines()
        print('\n'.join(lines[-TAIL_LINES:]), file=sys.stderr)


def restart(cloud: settings.Settings, overrides: Sequence[str]) -> None:
    """Stops and starts Nova; its databases and the guests stay."""
    progress = Progress()
    with lock(cloud):
        processes.end([process(cloud, 'nova')], RESTART_PATIENCE)
        progress.say('nova stopped')
        config.override(cloud, overrides)
        _start(cloud, ['nova'])
        try:
            _wait_ready(cloud, ['nova'], progress)
        except PartFailed as error:
            show_tail(cloud, error.name)
            processes.end([process(cloud, 'nova')], DOWN_PATIENCE)
            raise


def down(cloud: settings.Settings, keep_logs: bool) -> None:
    """Removes the whole cloud, whatever its state is."""
    progress = Progress()
    if not cloud.directory.exists():
        progress.say('the cloud is already down')
        return
    with lock(cloud):
        _take_down(cloud, keep_logs, progress)
    progress.say('the cloud is down')


def _take_down(cloud: settings.Settings, keep_logs: bool,
               progress: Progress) -> None:
    processes.end([process(cloud, service) for service in settings.SERVICES],
                  DOWN_PATIENCE)
    progress.say('services ended')
    _remove_guests(cloud)
    progress.say('guests removed')
    processes.end([libvirtd.process(cloud)], DOWN_PATIENCE)
    processes.kill_marked(settings.MARK_VARIABLE, str(cloud.directory))
    cleanup.unmount(cloud)
    cleanup.detach_loops(cloud)
    if libvirtd.running_pid() is None:
        cleanup.remove_libvirt_traces(cloud)
    clear(cloud, keep_logs)


def clear(cloud: settings.Settings, keep_logs: bool) -> None:
    """Restores settings and removes files, after all processes have ended."""
    for path in cloud.directory.iterdir():
        if keep_logs and path in (cloud.log, cloud.old_log):
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    with contextlib.suppress(OSError):
        cloud.directory.rmdir()


def _remove_guests(cloud: settings.Settings) -> None:
    pid = libvirtd.running_pid()
    if pid is None and libvirtd.has_domain_files(cloud):
        # This libvirtd has crashed; a new one finds the guests.
        libvirtd.start(cloud)
        pid = libvirtd.wait(cloud, settings.patience(LIBVIRTD_PATIENCE))
    if pid is not None:
        libvirtd.remove_domains(cloud)
        cleanup.unmount(cloud, libvirtd.inside(pid))


@contextlib.contextmanager
def lock(cloud: settings.Settings) -> Iterator[None]:
    """Lets only one command at a time change the cloud."""
    descriptor = os.open(cloud.directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
