# SPDX-License-Identifier: Apache-2.0

"""The command line of the cloud, the embedded one or the full one."""

import argparse
from collections.abc import Sequence
import dataclasses
import shlex
import subprocess
import sys

from cloud import computes
from cloud import config
from cloud.full import lifecycle as full_lifecycle
from cloud.full import services
from cloud.full import status
from cloud import guests
from cloud import libvirtd
from cloud import lifecycle
from cloud import plugins
from cloud import processes
from cloud import settings

NOT_RUNNING = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    options = _parser().parse_args(arguments)
    cloud = settings.load()
    plugins.list_at_once()
    try:
        return COMMANDS[options.command](cloud, options)
    except lifecycle.PartFailed as error:
        print(f'cloud.sh: {error}', file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='cloud.sh', description=__doc__,
        epilog=f'Environment: {settings.DIR_VARIABLE} (the directory), '
               f'{settings.PORT_VARIABLE} (the first of five ports), '
               f'{settings.PLUGIN_VARIABLE} (0: Nova without the plugin), '
               f'{settings.PATIENCE_VARIABLE} (a factor for all time limits).')
    commands = parser.add_subparsers(dest='command', required=True)
    up = commands.add_parser('up', help='start the processes that do not run')
    up.add_argument('--guest', choices=guests.KINDS,
                    help='the kind of guests (default: lxc)')
    up.add_argument('--full', action='store_true',
                    help='with MariaDB, RabbitMQ, Heat, Tacker and two '
                         'nova-computes, one for each kind of guests')
    up.add_argument('--pair', action='store_true',
                    help='like --full without Heat and Tacker; both '
                         'nova-computes have virtual machines, which can move')
    _add_set(up)
    _add_set(commands.add_parser('restart', help='stop and start only Nova'))
    down = commands.add_parser('down', help='remove everything')
    down.add_argument('--keep-logs', action='store_true')
    commands.add_parser('databases', help='make the databases that the next '
                        'clouds copy; "up" does so, too')
    commands.add_parser('status', help='show processes and memory')
    commands.add_parser('env', help='print variables for the shell')
    on = commands.add_parser('on', help='run a command on a compute node of '
                             'the full cloud')
    on.add_argument('node', choices=[node.name for node in computes.ALL])
    on.add_argument('words', nargs=argparse.REMAINDER, metavar='command')
    return parser


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--set', action='append', default=[], dest='overrides',
        metavar='SECTION.OPTION=VALUE', type=_override,
        help='a setting for nova.conf; may be repeated')


def _override(item: str) -> str:
    try:
        config.parse_override(item)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return item


def _up(cloud: settings.Settings, options: argparse.Namespace) -> int:
    if cloud.full or options.full or options.pair:
        return _up_full(cloud, options)
    guest = options.guest or cloud.guest
    if guest != cloud.guest and cloud.is_saved:
        raise lifecycle.PartFailed(
            'nova', f'has {cloud.guest} guests; take the cloud down first')
    lifecycle.up(dataclasses.replace(cloud, guest=guest), options.overrides)
    return 0


def _up_full(cloud: settings.Settings, options: argparse.Namespace) -> int:
    if options.guest:
        raise lifecycle.PartFailed(
            'nova', 'of the full cloud has guests of its own kinds')
    if cloud.is_saved and not cloud.full:
        raise lifecycle.PartFailed(
            'the embedded cloud', 'is up; take it down first')
    if cloud.is_saved and cloud.pair < options.pair:
        raise lifecycle.PartFailed(
            'the full cloud', 'is up with other nodes; take it down first')
    pair = cloud.pair or options.pair
    full_lifecycle.up(dataclasses.replace(cloud, full=True, pair=pair),
                      options.overrides)
    return 0


def _down(cloud: settings.Settings, options: argparse.Namespace) -> int:
    (full_lifecycle if cloud.full else lifecycle).down(
        cloud, options.keep_logs)
    return 0


def _restart(cloud: settings.Settings, options: argparse.Namespace) -> int:
    if cloud.full:
        full_lifecycle.restart(cloud, options.overrides)
        return 0
    if not lifecycle.running(cloud):
        print('cloud.sh: the cloud is down', file=sys.stderr)
        return NOT_RUNNING
    lifecycle.restart(cloud, options.overrides)
    return 0


def _databases(cloud: settings.Settings, options: argparse.Namespace) -> int:
    lifecycle.keep_databases(cloud)
    return 0


def _status(cloud: settings.Settings, options: argparse.Namespace) -> int:
    if cloud.full:
        return 0 if status.show(cloud) else NOT_RUNNING
    up = lifecycle.running(cloud)
    for service in settings.SERVICES:
        pid = lifecycle.process(cloud, service).pid
        print(f'{service:10} {f"pid {pid}" if pid else "down":12} '
              f'{cloud.url(service)}')
    print(f'libvirtd   pid {libvirtd.running_pid()}')
    if not up:
        return NOT_RUNNING
    names = libvirtd.domain_names(cloud)
    print(f'guests     {cloud.guest} {len(names)} {" ".join(names)}')
    kib = sum(map(processes.memory_kib, processes.marked(
        settings.MARK_VARIABLE, str(cloud.directory))))
    print(f'memory     {kib // 1024} MiB (sum of PSS)')
    return 0 if len(up) == len(settings.SERVICES) else NOT_RUNNING


def environment(cloud: settings.Settings) -> dict[str, str]:
    """Returns the variables for clients on the command line."""
    return {
        'OS_AUTH_URL': cloud.auth_url,
        'OS_USERNAME': 'admin',
        'OS_PASSWORD': settings.PASSWORD,
        'OS_PROJECT_NAME': 'admin',
        'OS_USER_DOMAIN_NAME': 'Default',
        'OS_PROJECT_DOMAIN_NAME': 'Default',
        'OS_REGION_NAME': settings.REGION,
        'OS_IDENTITY_API_VERSION': '3',
        'OS_COMPUTE_API_VERSION': '2.96',
        'OS_IMAGE_API_VERSION': '2',
        'OS_PLACEMENT_API_VERSION': '1.39'}


def _env(cloud: settings.Settings, options: argparse.Namespace) -> int:
    for name, value in environment(cloud).items():
        print(f'export {name}={shlex.quote(value)}')
    print(f'export PATH={shlex.quote(sys.prefix)}/bin:"$PATH"')
    return 0


def _on(cloud: settings.Settings, options: argparse.Namespace) -> int:
    if not cloud.full:
        raise lifecycle.PartFailed('the full cloud', 'is down')
    try:
        command = services.on_node(cloud, options.node, options.words)
    except LookupError as error:
        raise lifecycle.PartFailed('cloud', str(error)) from error
    return subprocess.run(command, env=cloud.environment()).returncode


COMMANDS = {'up': _up, 'down': _down, 'restart': _restart,
            'databases': _databases, 'status': _status, 'env': _env, 'on': _on}
