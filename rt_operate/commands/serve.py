# SPDX-License-Identifier: Apache-2.0

"""``nova-rt-monitor``: the service that Prometheus scrapes."""

import argparse
from collections.abc import Sequence
import contextlib
import sys
from typing import Any
from urllib import parse

from nova_rt.cli import base
from nova_rt.rules import exception
from nova_rt import version
from rt_monitor import push
from rt_monitor import service
from rt_operate.commands import monitor

_PROG = 'nova-rt-monitor'
_PORTS = 65_536


def _parser() -> argparse.ArgumentParser:
    default = service.ServiceOptions()
    parser = base.Parser(
        prog=_PROG,
        description='Serves to Prometheus what the servers of this host use '
                    'and wait for.  Starts as root, loads its programs into '
                    'the kernel, and then drops its privileges.  The '
                    'programs leave the kernel when the service ends.',
        epilog='Exit status: 0 ended by a signal, 1 failed, 3 wrong usage.')
    version.add_option(parser)
    parser.add_argument('--address', default=default.address,
                        help='the address to listen on (default: '
                             '%(default)s)')
    parser.add_argument('--port', type=_port, default=default.port,
                        help='the port to listen on (default: %(default)s)')
    parser.add_argument('--user', default=default.user,
                        help='the user to run as after the start (default: '
                             '%(default)s)')
    parser.add_argument('--certificate', default='', metavar='FILE',
                        help='the certificate of this host; turns on TLS')
    parser.add_argument('--key', default='', metavar='FILE',
                        help='the private key of the certificate, if the key '
                             'is in a file of its own')
    parser.add_argument('--clients', default='', metavar='FILE',
                        help='the authorities that must have signed the '
                             'certificates of clients')
    parser.add_argument('--report', default=default.report, metavar='FILE',
                        help='the file in which nova-compute reports its '
                             'reservations ([nova_rt] report_file); "" for '
                             'none (default: %(default)s)')
    monitor.add_http(parser)
    _add_push(parser)
    return parser


def _add_push(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--otlp-endpoint', type=_url, metavar='URL',
                        help='also push metrics to URL (OTLP over HTTP), '
                             'such as https://host:4318/v1/metrics; needs '
                             'the extra nova-rt[otlp]')
    parser.add_argument('--otlp-interval', type=_interval, metavar='SECONDS',
                        help='the time between two pushes (default: 60)')
    parser.add_argument('--otlp-authority', metavar='FILE',
                        help='the authority that signed the certificate of '
                             'the endpoint')
    parser.add_argument('--otlp-certificate', metavar='FILE',
                        help='the certificate to present to the endpoint')
    parser.add_argument('--otlp-key', metavar='FILE',
                        help='the private key of --otlp-certificate, if the '
                             'key is in a file of its own')


def _url(text: str) -> str:
    try:
        parts = parse.urlsplit(text)
        if parts.scheme in ('http', 'https') and parts.hostname:
            parts.port  # noqa: B018 raises ValueError
            return text
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        f'{text} is not an HTTP URL such as https://host:4318/v1/metrics')


def _interval(text: str) -> float:
    least, most = 1.0, 3600.0
    with contextlib.suppress(ValueError):
        if least <= float(text) <= most:
            return float(text)
    raise argparse.ArgumentTypeError(
        f'{text} is not a number between {least:g} and {most:g}')


def _push(args: dict[str, Any]) -> push.PushOptions | None:
    """Removes the ``--otlp-*`` options from *args* and returns them.

    :raises ValueError: when an option is given without the option that it
        needs
    """
    values = {name: args.pop(f'otlp_{name}') for name in (
        'endpoint', 'interval', 'authority', 'certificate', 'key')}
    values = {'interval_s' if name == 'interval' else name: value
              for name, value in values.items() if value is not None}
    if not values:
        return None
    if 'endpoint' not in values:
        raise ValueError('the --otlp-* options need --otlp-endpoint')
    if 'key' in values and 'certificate' not in values:
        raise ValueError('--otlp-key needs --otlp-certificate')
    return push.PushOptions(**values)


def _port(text: str) -> int:
    if not text.isdecimal() or not int(text) < _PORTS:
        raise argparse.ArgumentTypeError(
            f'{text} is not a port from 0 to 65535')
    return int(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``nova-rt-monitor`` and returns its exit status."""
    parser = _parser()
    args = parser.parse_args(argv)
    if (args.key or args.clients) and not args.certificate:
        parser.error('--key and --clients need --certificate')
    arguments = vars(args)
    try:
        options = service.ServiceOptions(push_to=_push(arguments), **arguments)
    except ValueError as error:
        parser.error(str(error))
    try:
        return service.run(options)
    except exception.RTError as error:
        print(f'{_PROG}: {error}', file=sys.stderr)
        return 1
