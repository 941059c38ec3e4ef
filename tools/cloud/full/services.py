# SPDX-License-Identifier: Apache-2.0

"""The processes of the full cloud: how each starts, when it is ready."""

from collections.abc import Callable, Mapping
import dataclasses
import sys

from cloud.full import infra
from cloud.full import nodes
from cloud import guests
from cloud import libvirtd
from cloud import processes
from cloud import settings
from cloud import web

Cloud = settings.Settings
# Tells the helpers of one service from those of the others.
MARK_VARIABLE = 'NOVA_RT_CLOUD_SERVICE'


@dataclasses.dataclass(frozen=True)
class Service:
    """One process, or a process and its workers.

    :ivar command: made when the service is about to start
    :ivar ready: whether it does what it is for
    :ivar node: the compute node it runs on
    :ivar api: the name of its port
    """

    name: str
    command: Callable[[Cloud], list[str]]
    ready: Callable[[Cloud], bool]
    node: str = ''
    api: str = ''
    environment: Callable[[Cloud], Mapping[str, str]] = lambda cloud: {}

    def process(self, cloud: Cloud) -> processes.Process:
        return processes.Process(cloud.run / f'{self.name}.pid')

    def pid(self, cloud: Cloud) -> int | None:
        return self.process(cloud).pid

    def members(self, cloud: Cloud) -> set[int]:
        """The pids of the process, its workers and helpers."""
        return {*self.process(cloud).session(), *processes.marked(
            MARK_VARIABLE, f'{cloud.directory}:{self.name}')}

    def start(self, cloud: Cloud) -> None:
        """Start it, without what a killed one may have left behind."""
        processes.kill(self.members(cloud))
        own = f'{cloud.directory}:{self.name}'
        command = self.command(cloud)
        if self.node:
            command = on_node(cloud, self.node, command)
        self.process(cloud).start(
            command, {**cloud.environment(), **self.environment(cloud),
                      MARK_VARIABLE: own}, cloud.log_file(self.name))


def on_node(cloud: Cloud, guest: str, command: list[str]) -> list[str]:
    """The command that runs *command* on a node.

    :raises LookupError: the node does not run
    """
    return [*nodes.inside(guest, _keeper(cloud, guest)), *command]


def libvirt_socket(cloud: Cloud, guest: str) -> str:
    return nodes.libvirt_socket(_keeper(cloud, guest))


def _keeper(cloud: Cloud, guest: str) -> int:
    pid = BY_NAME[f'node-{guest}'].pid(cloud)
    if pid is None:
        raise LookupError(f'node-{guest} does not run')
    return pid


def _served(name: str, port: str = '') -> Service:
    """An application behind our own HTTP server; see serve.py."""
    api = port or name
    return Service(
        name, lambda cloud: [sys.executable, '-m', 'cloud.full.serve', name],
        lambda cloud: web.answers(cloud.url(api)), api=api,
        # Also where not tools/cloud.sh starts it.
        environment=lambda cloud: {
            'PYTHONPATH': str(settings.PROJECT / 'tools')})


def _program(name: str, project: str, topic: str) -> Service:
    """A program of a project that serves requests of a topic."""
    return Service(
        name, lambda cloud: [name, '--config-file', str(
            cloud.etc / project / f'{project}.conf')],
        lambda cloud: infra.listens(cloud, topic))


def _node(guest: str) -> Service:
    name = f'node-{guest}'

    def ready(cloud: Cloud) -> bool:
        pid = BY_NAME[name].pid(cloud)
        return pid is not None and nodes.ready(pid)

    return Service(name, lambda cloud: nodes.command(cloud, guest), ready)


def _libvirtd(guest: str) -> Service:
    def seen_by(cloud: Cloud) -> Cloud:
        return dataclasses.replace(cloud, guest=guest)

    return Service(
        f'libvirtd-{guest}',
        lambda cloud: libvirtd.command(cloud, nodes.directory(cloud, guest)),
        lambda cloud: libvirtd.answers(libvirt_socket(cloud, guest)),
        node=guest,
        environment=lambda cloud: libvirtd.environment(seen_by(cloud)))


def _compute(guest: str) -> Service:
    return Service(
        f'nova-compute-{guest}',
        lambda cloud: ['nova-compute', '--config-file',
                       str(cloud.compute_conf(guest))],
        lambda cloud: infra.listens(
            cloud, f'compute.{nodes.HOST_NAMES[guest]}'), node=guest)


def _tacker_server() -> Service:
    return Service(
        'tacker-server',
        lambda cloud: ['tacker-server', '--config-file',
                       str(cloud.etc / 'tacker' / 'tacker.conf')],
        lambda cloud: web.answers(cloud.url('tacker')), api='tacker')


#: What is below all others.
BASE = (
    Service('mariadb', infra.mariadb, infra.mariadb_answers, api='mariadb'),
    Service('rabbitmq', infra.rabbitmq, infra.rabbitmq_answers,
            api='rabbitmq', environment=infra.rabbitmq_environment),
    *map(_node, guests.KINDS),
)
CONTROL = (
    *map(_libvirtd, guests.KINDS),
    _program('nova-conductor', 'nova', 'conductor'),
    *map(_served, ('keystone', 'placement', 'glance', 'neutron')),
    _served('nova-api', 'nova'), _served('heat-api', 'heat'),
    _program('nova-scheduler', 'nova', 'scheduler'),
    _program('heat-engine', 'heat', 'engine'), _tacker_server(),
    _program('tacker-conductor', 'tacker', 'TACKER_CONDUCTOR'),
)
#: They wait long for a conductor that is not there yet.
COMPUTES = tuple(map(_compute, guests.KINDS))
STAGES = (BASE, CONTROL, COMPUTES)
ALL = tuple(service for stage in STAGES for service in stage)
BY_NAME = {service.name: service for service in ALL}
#: They go last, with all that runs on them.
NODES = tuple(f'node-{guest}' for guest in guests.KINDS)
#: What tools/cloud.sh restart stops and starts.
NOVA = tuple(service for service in ALL if service.name.startswith('nova-'))
