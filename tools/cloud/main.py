# SPDX-License-Identifier: Apache-2.0

"""The command line of the embedded cloud."""

import argparse
from collections.abc import Sequence
import shlex
import sys

from cloud import config
from cloud import libvirtd
from cloud import lifecycle
from cloud import processes
from cloud import settings

NOT_RUNNING = 3


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    cloud = settings.load()
    try:
        return COMMANDS[options.command](cloud, options)
    except lifecycle.PartFailed as error:
        print(f'cloud.sh: {error}', file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='cloud.sh', description=__doc__,
        epilog=f'Environment: {settings.DIR_VARIABLE} (directory), '
               f'{settings.PORT_VARIABLE} (first of five ports), '
               f'{settings.PLUGIN_VARIABLE} (0: plain Nova).')
    commands = parser.add_subparsers(dest='command', required=True)
    for name, text in (('up', 'start what does not run'),
                       ('restart', 'stop and start Nova only')):
        _add_set(commands.add_parser(name, help=text))
    down = commands.add_parser('down', help='remove everything')
    down.add_argument('--keep-logs', action='store_true')
    commands.add_parser('status', help='show processes and memory')
    commands.add_parser('env', help='print exports for the shell')
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
    lifecycle.up(cloud, options.overrides)
    return 0


def _down(cloud: settings.Settings, options: argparse.Namespace) -> int:
    lifecycle.down(cloud, options.keep_logs)
    return 0


def _restart(cloud: settings.Settings, options: argparse.Namespace) -> int:
    if not lifecycle.running(cloud):
        print('cloud.sh: the cloud is down', file=sys.stderr)
        return NOT_RUNNING
    lifecycle.restart(cloud, options.overrides)
    return 0


def _status(cloud: settings.Settings, options: argparse.Namespace) -> int:
    up = lifecycle.running(cloud)
    for service in settings.SERVICES:
        pid = lifecycle.process(cloud, service).pid
        print(f'{service:10} {f"pid {pid}" if pid else "down":12} '
              f'{cloud.url(service)}')
    print(f'libvirtd   pid {libvirtd.running_pid()}')
    if not up:
        return NOT_RUNNING
    names = libvirtd.domain_names(cloud)
    print(f'containers {len(names)} {" ".join(names)}')
    kib = sum(map(processes.memory_kib, processes.marked(
        settings.MARK_VARIABLE, str(cloud.directory))))
    print(f'memory     {kib // 1024} MiB (sum of PSS)')
    return 0 if len(up) == len(settings.SERVICES) else NOT_RUNNING


def _env(cloud: settings.Settings, options: argparse.Namespace) -> int:
    for name, value in {
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
            'OS_PLACEMENT_API_VERSION': '1.39'}.items():
        print(f'export {name}={shlex.quote(value)}')
    print(f'export PATH={shlex.quote(sys.prefix)}/bin:"$PATH"')
    return 0


COMMANDS = {'up': _up, 'down': _down, 'restart': _restart,
            'status': _status, 'env': _env}
