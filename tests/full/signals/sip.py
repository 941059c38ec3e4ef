# SPDX-License-Identifier: Apache-2.0

"""Servers of SIP over TCP: Kamailio and sipp."""

from collections.abc import Iterator
import contextlib
import pathlib

from tests.full.signals import compare
from tests.full.signals import stage as signals_stage

_KAMAILIO = '''
log_stderror=yes
children=1
tcp_children=2
listen=tcp:127.0.0.1:{port}
mpath="{modules}"
loadmodule "sl.so"
request_route {{ sl_send_reply("200", "OK"); }}
'''
_OPTIONS = (
    b'OPTIONS sip:127.0.0.1 SIP/2.0\r\n'
    b'Via: SIP/2.0/TCP 127.0.0.1:5090;branch=z9hG4bK-1\r\n'
    b'From: <sip:a@x>;tag=1\r\nTo: <sip:b@x>\r\nCall-ID: 1\r\n'
    b'CSeq: 1 OPTIONS\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n')
#: A call has two requests that are answered: INVITE and BYE.
_IN_A_CALL = 2
#: One TCP connection for all calls, as proxies have it.
_ONE_CONNECTION = ('-t', 't1')


def of_kamailio(stage: signals_stage.Stage, count: int
                ) -> Iterator[compare.Row]:
    """Yields a line."""
    with _kamailio(stage) as port:
        size = stage.answer_to(port, _OPTIONS)
        yield stage.watched(
            'Kamailio', 'SIP over TCP, OPTIONS', lambda: stage.generate(
                port, _OPTIONS, size, count))


def of_calls(stage: signals_stage.Stage, count: int) -> Iterator[compare.Row]:
    """Yields a line of calls over one connection."""
    port, sipp = signals_stage.free_port(), stage.packages.path('sipp')
    with stage.serving(port, sipp, '-sn', 'uas', *_ONE_CONNECTION, '-i',
                       signals_stage.HOST, '-p', str(port), '-nostdin'):
        yield stage.watched('sipp', 'SIP over TCP, calls',
                            lambda: _call(stage, sipp, port, count // 10))


@contextlib.contextmanager
def _kamailio(stage: signals_stage.Stage) -> Iterator[int]:
    """Runs Kamailio, which answers each request at once; yields its port."""
    port = signals_stage.free_port()
    modules = pathlib.Path(stage.packages.path('sl.so')).parent
    path = stage.file('kamailio.cfg', _KAMAILIO.format(
        port=port, modules=modules))
    with stage.serving(port, stage.packages.path('kamailio'), '-DD', '-E',
                       '-f', path, '-Y', str(stage.folder)):
        yield port


def _call(stage: signals_stage.Stage, sipp: str, port: int, calls: int
          ) -> compare.Truth:
    """Calls by sipp, which fails if a call fails."""
    stage.run(sipp, '-sn', 'uac', *_ONE_CONNECTION, '-i', signals_stage.HOST,
              f'{signals_stage.HOST}:{port}', '-m', str(calls), '-r', '100',
              '-d', '0', '-nostdin')
    return compare.Truth(_IN_A_CALL * calls)
