# SPDX-License-Identifier: Apache-2.0

"""``nova-rt-monitor``: the service that Prometheus asks."""

import argparse
from collections.abc import Sequence
import contextlib
import sys
from typing import Any
from urllib import parse

from nova_rt.cli import base
from nova_rt.operate.commands import monitor
from nova_rt.rules import exception
from rt_monitor import push
from rt_monitor import service

_PROG = 'nova-rt-monitor'
_PORTS = 65_536


def _parser() -> argparse.ArgumentParser:
    default = service.Options()
    parser = base.Parser(
        prog=_PROG,
        description='Answer Prometheus with what the servers of this host '
                    'use and wait for.  Starts as root and drops that once '
                    'its programs are in the kernel; they go with it.',
        epilog='Exit status: 0 ended by a signal, 1 failed, 3 wrong usage.')
    parser.add_argument('--address', default=default.address,
                        help='to listen at (default: %(default)s)')
    parser.add_argument('--port', type=_port, default=default.port,
                        help='(default: %(default)s)')
    parser.add_argument('--user', default=default.user,
                        help='whom to run as (default: %(default)s)')
    parser.add_argument('--certificate', default='', metavar='FILE',
                        help='of this host, for TLS')
    parser.add_argument('--key', default='', metavar='FILE',
                        help='of the certificate, if not in its file')
    parser.add_argument('--clients', default='', metavar='FILE',
                        help='the authorities that certificates of clients '
                             'must be from')
    monitor.add_http(parser)
    _add_push(parser)
    return parser


def _add_push(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--otlp-endpoint', type=_url, metavar='URL',
                        help='push metrics there, too (OTLP over HTTP), as '
                             'https://host:4318/v1/metrics; takes the extra '
                             'nova-rt[otlp]')
    parser.add_argument('--otlp-interval', type=_interval, metavar='SECONDS',
                        help='between two pushes (default: 60)')
    parser.add_argument('--otlp-authority', metavar='FILE',
                        help='who signed the certificate of the endpoint')
    parser.add_argument('--otlp-certificate', metavar='FILE',
                        help='that the endpoint is shown')
    parser.add_argument('--otlp-key', metavar='FILE',
                        help='of that certificate, if not in its file')


def _url(text: str) -> str:
    try:
        found = parse.urlsplit(text)
        if found.scheme in ('http', 'https') and found.hostname:
            found.port  # noqa: B018 raises ValueError
            return text
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        f'{text} is no URL of HTTP, as https://host:4318/v1/metrics')


def _interval(text: str) -> float:
    least, most = 1.0, 3600.0
    with contextlib.suppress(ValueError):
        if least <= float(text) <= most:
            return float(text)
    raise argparse.ArgumentTypeError(
        f'{text} is no number between {least:g} and {most:g}')


def _push(args: dict[str, Any]) -> push.Options | None:
    """Takes what is about pushing out of the arguments.

    :raises ValueError: something is, but not where to
    """
    given = {name: args.pop(f'otlp_{name}') for name in (
        'endpoint', 'interval', 'authority', 'certificate', 'key')}
    given = {'interval_s' if name == 'interval' else name: value
             for name, value in given.items() if value is not None}
    if not given:
        return None
    if 'endpoint' not in given:
        raise ValueError('--otlp-interval and others need --otlp-endpoint')
    if 'key' in given and 'certificate' not in given:
        raise ValueError('--otlp-key needs --otlp-certificate')
    return push.Options(**given)


def _port(text: str) -> int:
    if not text.isdecimal() or not int(text) < _PORTS:
        raise argparse.ArgumentTypeError(f'{text} is no port')
    return int(text)


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    args = parser.parse_args(argv)
    if (args.key or args.clients) and not args.certificate:
        parser.error('--key and --clients need --certificate')
    given = vars(args)
    try:
        options = service.Options(push_to=_push(given), **given)
    except ValueError as error:
        parser.error(str(error))
    try:
        return service.run(options)
    except exception.RTError as error:
        print(f'{_PROG}: {error}', file=sys.stderr)
        return 1
