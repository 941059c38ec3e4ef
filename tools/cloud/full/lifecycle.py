# SPDX-License-Identifier: Apache-2.0

"""Brings the full cloud up and takes it down: the order of the steps."""

from collections.abc import Sequence
import dataclasses
import subprocess
import time

from cloud import cleanup
from cloud.full import nodes
from cloud.full import services
from cloud.full import tables
from cloud import images
from cloud import lifecycle
from cloud import processes
from cloud import settings

START_PATIENCE = 120
# RabbitMQ and MariaDB would only store data that is removed now.
DOWN_PATIENCE = 2
RESTART_PATIENCE = 15
# Directories that Tacker does not make itself.
UNMADE = ('tacker/csar_files', 'tacker/vnfpackage')

Cloud = settings.Settings
Services = Sequence[services.Service]


def missing(cloud: Cloud) -> list[services.Service]:
    """Returns the services that do not run."""
    return [service for service in services.all_services(cloud)
            if not service.pid(cloud)]


def up(cloud: Cloud, overrides: Sequence[str]) -> None:
    """Starts every process that does not run."""
    progress = lifecycle.Progress()
    cloud.directory.mkdir(parents=True, exist_ok=True)
    with lifecycle.lock(cloud):
        wanted = missing(cloud)
        if not wanted:
            if overrides:
                raise lifecycle.PartFailed(
                    'nova', 'already runs; use restart --set')
            progress.say('the cloud is already up')
            return
        try:
            _start_missing(cloud, overrides, progress)
        except BaseException as error:
            if isinstance(error, lifecycle.PartFailed):
                lifecycle.show_tail(cloud, error.name)
            if len(wanted) == len(services.all_services(cloud)):
                _take_down(cloud, True, progress)
            raise
        progress.say('ready: eval "$(tools/cloud.sh env)"')


def _start_missing(cloud: Cloud, overrides: Sequence[str],
                   progress: lifecycle.Progress) -> None:
    lifecycle.prepare(cloud, overrides)
    for name in (*UNMADE, *_unmade_by_nova(cloud)):
        (cloud.data / name).mkdir(parents=True, exist_ok=True)
    _clear_nodes(cloud)
    if not tables.restore(cloud):
        _make_tables(cloud, progress)
    for stage in services.stages(cloud):
        missing_here = [service for service in stage
                        if not service.pid(cloud)]
        for service in missing_here:
            _start(cloud, service)
        _wait_ready(cloud, missing_here, progress)
    # Services that ran on must find a broker or database that was restarted.
    _wait_ready(cloud, [service for service in services.all_services(cloud)
                        if not service.ready(cloud)], progress)
    _finish(cloud, progress)


def _unmade_by_nova(cloud: Cloud) -> set[str]:
    """Returns the directories; nodes of one kind use the same paths."""
    return {*(f'nova-{node.name}' for node in cloud.nodes),
            *(f'instances-{node.guest}' for node in cloud.nodes)}


def _make_tables(cloud: Cloud, progress: lifecycle.Progress) -> None:
    """Makes the tables only once, and gives the next clouds copies."""
    database = services.BY_NAME[tables.SERVER]
    database.start(cloud)
    _wait_ready(cloud, [database], progress)
    try:
        tables.make(cloud)
    except tables.Failed as error:
        raise lifecycle.PartFailed(tables.log_name(error.project),
                                   'failed') from error
    processes.end([database.process(cloud)], START_PATIENCE)
    tables.keep(cloud)
    progress.say('all tables made')


def _start(cloud: Cloud, service: services.Service) -> None:
    try:
        service.start(cloud)
    except nodes.NoNode as error:
        raise lifecycle.PartFailed(service.name, str(error)) from error


def _clear_nodes(cloud: Cloud) -> None:
    """Clears nodes whose keeper was killed: no process can join them."""
    for node in cloud.nodes:
        if services.BY_NAME[f'node-{node.name}'].pid(cloud) is None:
            nodes.clear(node)


def _wait_ready(cloud: Cloud, started: Services,
                progress: lifecycle.Progress) -> None:
    deadline = time.monotonic() + settings.patience(
        START_PATIENCE)
    pending = list(started)
    while pending:
        processes.reap()
        for service in list(pending):
            if service.ready(cloud):
                pending.remove(service)
                progress.say(f'{service.name} is ready')
            elif service.pid(cloud) is None:
                raise lifecycle.PartFailed(service.name, 'has ended')
        if pending and time.monotonic() > deadline:
            raise lifecycle.PartFailed(pending[0].name, 'is not ready')
        time.sleep(0.2)


def _finish(cloud: Cloud, progress: lifecycle.Progress) -> None:
    """Maps the hosts, once; stores the images of their guests."""
    stamp = cloud.data / 'hosts-known'
    if not stamp.exists():
        _discover_hosts(cloud)
        stamp.touch()
        progress.say('hosts known')
    for guest in sorted({node.guest for node in cloud.nodes}):
        images.upload(dataclasses.replace(cloud, guest=guest))
    progress.say('images stored')


def _discover_hosts(cloud: Cloud) -> None:
    with cloud.log_file('nova-manage').open('ab') as log:
        done = subprocess.run(
            ['nova-manage', f'--config-file={cloud.nova_conf}', 'cell_v2',
             'discover_hosts', '--by-service'], env=cloud.environment(),
            stdout=log, stderr=log)
    if done.returncode:
        raise lifecycle.PartFailed('nova-manage', 'found no hosts')


def restart(cloud: Cloud, overrides: Sequence[str]) -> None:
    """Stops and starts Nova's services; databases and guests stay."""
    progress = lifecycle.Progress()
    with lifecycle.lock(cloud):
        processes.end([service.process(cloud)
                       for service in services.nova_services(cloud)],
                      RESTART_PATIENCE)
        progress.say('nova stopped')
        _start_missing(cloud, overrides, progress)


def down(cloud: Cloud, keep_logs: bool) -> None:
    """Removes the whole cloud, whatever its state is."""
    progress = lifecycle.Progress()
    with lifecycle.lock(cloud):
        _take_down(cloud, keep_logs, progress)
    progress.say('the cloud is down')


def _take_down(cloud: Cloud, keep_logs: bool,
               progress: lifecycle.Progress) -> None:
    processes.end_sessions(
        [service.process(cloud) for service in services.all_services(cloud)
         if service not in services.keepers(cloud)], DOWN_PATIENCE)
    progress.say('services ended')
    for node in cloud.nodes:
        nodes.clear(node)
    processes.kill_marked(settings.MARK_VARIABLE, str(cloud.directory))
    for node in cloud.nodes:
        nodes.remove(node)
    cleanup.unmount(cloud)
    cleanup.detach_loops(cloud)
    cleanup.remove_libvirt_traces(cloud)
    lifecycle.clear(cloud, keep_logs)
