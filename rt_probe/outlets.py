# SPDX-License-Identifier: Apache-2.0

"""Where reports go: lines, a file for a collector, or a port."""

import os
import select
import socket
import sys
import time
from typing import Protocol

from rt_probe import errors
from rt_probe import report

#: A client that says or takes nothing for so long is left alone.
_PATIENCE_S = 0.2
_REQUEST = 4096
_TYPE = 'text/plain; version=0.0.4; charset=utf-8'


class Outlet(Protocol):
    """One way out."""

    def put(self, one: report.Report) -> None:
        """Take the latest report.

        :raises ProbeError: it cannot go out
        """

    def wait(self, until: float) -> None:
        """Pass the time up to then, of the monotonic clock."""


class _Sleeping:
    def wait(self, until: float) -> None:
        time.sleep(max(0.0, until - time.monotonic()))


class Lines(_Sleeping):
    """JSON, a line for each, on standard output."""

    def put(self, one: report.Report) -> None:
        sys.stdout.write(f'{one.as_json()}\n')
        sys.stdout.flush()


class Textfile(_Sleeping):
    """A file as the textfile collector of node_exporter reads it.

    It is replaced as a whole, so that nobody reads half of it.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def put(self, one: report.Report) -> None:
        scratch = f'{self._path}.{os.getpid()}'
        try:
            with open(scratch, 'w', encoding='ascii') as file:
                file.write(one.as_prometheus())
            os.replace(scratch, self._path)
        except OSError as error:
            raise errors.ProbeError(
                f'{self._path} cannot be written: {error.strerror}'
            ) from error


class Listener:
    """The latest report to whoever asks over HTTP.

    :raises ProbeError: the address cannot be had
    """

    def __init__(self, host: str, port: int) -> None:
        self._text = ''
        try:
            self._socket = socket.create_server((host, port))
        except OSError as error:
            # Python adds the address, and what it did with it.
            number = error.errno or 0
            why = os.strerror(number) if number > 0 else error.strerror
            raise errors.ProbeError(
                f'{host}:{port} cannot be listened on: {why}') from error

    @property
    def port(self) -> int:
        found: int = self._socket.getsockname()[1]
        return found

    def put(self, one: report.Report) -> None:
        self._text = one.as_prometheus()

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
                print(f'rt-probe: a client went away: {error}',
                      file=sys.stderr)

    def _response(self, words: list[bytes]) -> bytes:
        if words[:2] == [b'GET', b'/metrics']:
            status, body = '200 OK', self._text
        else:
            status, body = '404 Not Found', 'only GET /metrics is here\n'
        return (f'HTTP/1.0 {status}\r\nContent-Type: {_TYPE}\r\n'
                f'Content-Length: {len(body)}\r\n\r\n{body}').encode()
