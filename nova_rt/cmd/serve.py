# SPDX-License-Identifier: Apache-2.0

"""``nova-rt-monitor``: the service that Prometheus asks."""

import argparse
from collections.abc import Sequence
import sys

from nova_rt.cmd import base
from nova_rt.cmd import monitor
from nova_rt import exception
from nova_rt.monitor import service

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
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or not int(text) < _PORTS:
        raise argparse.ArgumentTypeError(f'{text} is no port')
    return int(text)


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    args = parser.parse_args(argv)
    if (args.key or args.clients) and not args.certificate:
        parser.error('--key and --clients need --certificate')
    try:
        return service.run(service.Options(**vars(args)))
    except exception.RTError as error:
        print(f'{_PROG}: {error}', file=sys.stderr)
        return 1
