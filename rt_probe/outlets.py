# SPDX-License-Identifier: Apache-2.0

"""Sends reports to standard output, a file or a TCP port."""

import os
import select
import socket
import sys
import time
from typing import Protocol

from rt_probe import errors
from rt_probe import report

#: The probe closes the connection to a client that neither sends nor reads
#: anything for this time.
_PATIENCE_S = 0.2
_REQUEST = 4096
_TYPE = 'text/plain; version=0.0.4; charset=utf-8'


class Outlet(Protocol):
    """A destination of reports."""

    def put(self, latest: report.Report) -> None:
        """Publishes the latest report.

        :raises ProbeError: when the report cannot be published
        """

    def wait(self, until: float) -> None:
        """Waits until this time of the monotonic clock, in seconds."""


class _Sleeping:
    def wait(self, until: float) -> None:
        time.sleep(max(0.0, until - time.monotonic()))


class Lines(_Sleeping):
    """Lines of JSON on standard output, one for each report."""

    def put(self, latest: report.Report) -> None:
        try:
            sys.stdout.write(f'{latest.as_json()}\n')
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            # Python would write once more when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise errors.ProbeError('standard output cannot be written: '
                                    f'{error.strerror}') from error


class Textfile(_Sleeping):
    """A file for the textfile collector of node_exporter.

    Each report replaces the whole file at once, so that the collector never
    reads half a report.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def put(self, latest: report.Report) -> None:
        scratch = f'{self._path}.{os.getpid()}'
        try:
            with open(scratch, 'w', encoding='ascii') as file:
                file.write(latest.as_prometheus())
            os.replace(scratch, self._path)
        except OSError as error:
            raise errors.ProbeError(
                f'{self._path} cannot be written: {error.strerror}'
            ) from error


class Listener:
    """An HTTP server that answers with the latest report.

    :raises ProbeError: when the address cannot be listened on
    """

    def __init__(self, host: str, port: int) -> None:
        self._text = ''
        try:
            self._socket = socket.create_server((host, port), family=(
                socket.AF_INET6 if ':' in host else socket.AF_INET))
        except OSError as error:
            # Python adds the address and the failed step to the text of
            # the error.
            number = error.errno or 0
            why = os.strerror(number) if number > 0 else error.strerror
            raise errors.ProbeError(
                f'{host}:{port} cannot be listened on: {why}') from error

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        number: int = self._socket.getsockname()[1]
        return number

    def put(self, latest: report.Report) -> None:
        self._text = latest.as_prometheus()

    def wait(self, until: float) -> None:
        while (left := until - time.monotonic()) > 0:
            if select.select([self._socket], [], [], left)[0]:
                self._answer()

    def _answer(self) -> None:
        client, _ = self._socket.accept()
        with client:
            client.settimeout(_PATIENCE_S)
            try:
                words = client.recv(_REQUEST).split()
                client.sendall(self._response(words))
            except OSError as error:
                print(f'rt-probe: a client closed its connection: {error}',
                      file=sys.stderr)

    def _response(self, words: list[bytes]) -> bytes:
        if words[:2] == [b'GET', b'/metrics']:
            status, body = '200 OK', self._text
        else:
            status, body = ('404 Not Found',
                            'rt-probe answers only GET /metrics\n')
        return (f'HTTP/1.0 {status}\r\nContent-Type: {_TYPE}\r\n'
                f'Content-Length: {len(body)}\r\n\r\n{body}').encode()
