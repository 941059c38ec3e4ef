# SPDX-License-Identifier: Apache-2.0

"""The processes of the full cloud: how they start and become ready."""

from collections.abc import Callable, Mapping
import dataclasses
import sys

from cloud import computes
from cloud.full import infra
from cloud.full import nodes
from cloud import libvirtd
from cloud import processes
from cloud import settings
from cloud import web

Cloud = settings.Settings
# This variable distinguishes the helpers of one service from others.
MARK_VARIABLE = 'NOVA_RT_CLOUD_SERVICE'
_OF_NOVA = ('nova-api', 'placement')


@dataclasses.dataclass(frozen=True)
class Service:
    """One process, or a process and its workers.

    :ivar command: makes the command when the service is about to start
    :ivar ready: whether the service does its work
    :ivar node: the compute node on which the service runs
    :ivar api: the name of its port
    """

    name: str
    command: Callable[[Cloud], list[str]]
    ready: Callable[[Cloud], bool]
    node: str = ''
    api: str = ''
    environment: Callable[[Cloud], Mapping[str, str]] = lambda cloud: {}

    def process(self, cloud: Cloud) -> processes.Process:
        """Returns the record of the process."""
        return processes.Process(cloud.run / f'{self.name}.pid')

    def pid(self, cloud: Cloud) -> int | None:
        """Returns the pid while the process runs."""
        return self.process(cloud).pid

    def members(self, cloud: Cloud) -> set[int]:
        """Returns the pids of the process, its workers and helpers."""
        return {*self.process(cloud).session(), *processes.marked(
            MARK_VARIABLE, f'{cloud.directory}:{self.name}')}

    def start(self, cloud: Cloud) -> None:
        """Removes the traces of a killed process, then starts the service."""
        processes.kill(self.members(cloud))
        own = f'{cloud.directory}:{self.name}'
        command = self.command(cloud)
        if self.node:
            command = on_node(cloud, self.node, command)
        self.process(cloud).start(
            command, {**cloud.environment(), **self.environment(cloud),
                      MARK_VARIABLE: own}, cloud.log_file(self.name))


def on_node(cloud: Cloud, node: str, command: list[str]) -> list[str]:
    """Returns the command that runs *command* on a node.

    :raises LookupError: when the node does not run
    """
    return [*nodes.inside(_NODES[node], _keeper(cloud, node)), *command]


def libvirt_socket(cloud: Cloud, node: str) -> str:
    """Returns the socket of the libvirtd of a node."""
    return nodes.libvirt_socket(_keeper(cloud, node))


def _keeper(cloud: Cloud, node: str) -> int:
    pid = BY_NAME[f'node-{node}'].pid(cloud)
    if pid is None:
        raise LookupError(f'node-{node} does not run')
    return pid


def _served(name: str, port: str = '') -> Service:
    """Returns an application behind our own HTTP server; see serve.py."""
    api = port or name
    return Service(
        name, lambda cloud: [_python(name), '-m', 'cloud.full.serve', name],
        lambda cloud: web.answers(cloud.url(api)), api=api,
        # This is needed when tools/cloud.sh does not start the service, too.
        environment=lambda cloud: {
            'PYTHONPATH': str(settings.PROJECT / 'tools')})


def _python(name: str) -> str:
    return (f'{settings.nova_prefix()}/bin/python' if name in _OF_NOVA
            else sys.executable)


def _program(name: str, project: str, topic: str) -> Service:
    """Returns a program of a project that serves requests of a topic."""
    return Service(
        name, lambda cloud: [name, '--config-file', str(
            cloud.etc / project / f'{project}.conf')],
        lambda cloud: infra.listens(cloud, topic))


def _node(node: computes.Node) -> Service:
    name = f'node-{node.name}'

    def ready(cloud: Cloud) -> bool:
        pid = BY_NAME[name].pid(cloud)
        return pid is not None and nodes.ready(pid)

    return Service(name, lambda cloud: nodes.command(cloud, node), ready)


def _libvirtd(node: computes.Node) -> Service:
    def with_node_guest(cloud: Cloud) -> Cloud:
        return dataclasses.replace(cloud, guest=node.guest)

    return Service(
        f'libvirtd-{node.name}',
        lambda cloud: libvirtd.command(nodes.libvirt_etc(cloud, node),
                                       nodes.directory(cloud, node)),
        lambda cloud: libvirtd.answers(libvirt_socket(cloud, node.name)),
        node=node.name,
        environment=lambda cloud: libvirtd.environment(with_node_guest(cloud)))


def _compute(node: computes.Node) -> Service:
    return Service(
        f'nova-compute-{node.name}',
        lambda cloud: ['nova-compute', '--config-file',
                       str(cloud.compute_conf(node.name))],
        lambda cloud: infra.listens(cloud, f'compute.{node.host_name}'),
        node=node.name)


def _tacker_server() -> Service:
    return Service(
        'tacker-server',
        lambda cloud: ['tacker-server', '--config-file',
                       str(cloud.etc / 'tacker' / 'tacker.conf')],
        lambda cloud: web.answers(cloud.url('tacker')), api='tacker')


_NODES = {node.name: node for node in computes.ALL}
_BASE = (
    Service('mariadb', infra.mariadb, infra.mariadb_answers, api='mariadb'),
    Service('rabbitmq', infra.rabbitmq, infra.rabbitmq_answers,
            api='rabbitmq', environment=infra.rabbitmq_environment),
)
_CONTROL = (
    _program('nova-conductor', 'nova', 'conductor'),
    *map(_served, ('keystone', 'placement', 'glance', 'neutron')),
    _served('nova-api', 'nova'),
    _program('nova-scheduler', 'nova', 'scheduler'),
)
_ORCHESTRATION = (
    _served('heat-api', 'heat'), _program('heat-engine', 'heat', 'engine'),
    _tacker_server(), _program('tacker-conductor', 'tacker',
                               'TACKER_CONDUCTOR'),
)
_KEEPERS, _LIBVIRTDS, _COMPUTES = (
    {node: make(node) for node in computes.ALL}
    for make in (_node, _libvirtd, _compute))
#: The services of any cloud.
BY_NAME = {service.name: service for service in (
    *_BASE, *_CONTROL, *_ORCHESTRATION, *_KEEPERS.values(),
    *_LIBVIRTDS.values(), *_COMPUTES.values())}


def stages(cloud: Cloud) -> tuple[tuple[Service, ...], ...]:
    """Returns the services in stages; each stage needs the stages before.

    nova-compute would wait long for a conductor that does not run yet.
    """
    return ((*_BASE, *keepers(cloud)),
            (*(_LIBVIRTDS[node] for node in cloud.nodes), *_CONTROL,
             *(() if cloud.pair else _ORCHESTRATION)),
            tuple(_COMPUTES[node] for node in cloud.nodes))


def all_services(cloud: Cloud) -> tuple[Service, ...]:
    """Returns all services of the cloud in the order of their start."""
    return tuple(service for stage in stages(cloud) for service in stage)


def keepers(cloud: Cloud) -> tuple[Service, ...]:
    """Returns the keepers of the nodes, which end last."""
    return tuple(_KEEPERS[node] for node in cloud.nodes)


def nova_services(cloud: Cloud) -> tuple[Service, ...]:
    """Returns the services that tools/cloud.sh restart stops and starts."""
    return tuple(service for service in all_services(cloud)
                 if service.name.startswith('nova-'))
