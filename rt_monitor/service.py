# SPDX-License-Identifier: Apache-2.0

"""The service: Prometheus asks, the programs answer.

The process that listens has no privileges and nothing but open maps; the
one that finds servers has no socket.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import gc
import http.server
import pwd
import signal
import ssl
import sys
import threading
from typing import Any

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import namespaces
from nova_rt.rules import exception
from rt_monitor import exposition
from rt_monitor import finding
from rt_monitor import look as monitor_look
from rt_monitor import metrics
from rt_monitor import privileges
from rt_monitor import push
from rt_monitor import servers

PATH = '/metrics'
#: How long a client may take, in seconds.
_PATIENCE = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """How the service runs.

    :ivar user: whom the listening process runs as
    :ivar certificate, key: for TLS, '' for none
    :ivar clients: the authority that clients' certificates must be from
    :ivar http: read requests of HTTP/1, which are tenants'
    :ivar push_to: where to push metrics, too; None for nowhere
    """

    address: str = '127.0.0.1'
    port: int = 9760
    user: str = 'nobody'
    certificate: str = ''
    key: str = ''
    clients: str = ''
    http: bool = False
    push_to: push.Options | None = None


class _Handler(http.server.BaseHTTPRequestHandler):
    server: 'Server'
    timeout = _PATIENCE
    server_version = 'nova-rt-monitor'
    sys_version = ''

    def do_GET(self) -> None:  # noqa: N802
        if self.path.partition('?')[0] != PATH:
            self.send_error(404, f'Only {PATH} is here')
            return
        body = self.server.answer().encode()
        self.send_response(200)
        self.send_header('Content-Type', exposition.CONTENT_TYPE)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads a line for each scrape."""


class Server(http.server.ThreadingHTTPServer):
    """Answers scrapes, one at a time."""

    daemon_threads = True

    def __init__(self, options: Options, monitor: monitor_look.Monitor
                 ) -> None:
        """Listen, not yet answering.

        :raises CannotMonitor: the address cannot be had, for one
        """
        self._monitor = monitor
        self._lock = threading.Lock()
        self._push: push.Push | None = None
        try:
            super().__init__((options.address, options.port), _Handler)
            if options.certificate:
                self.socket = _context(options).wrap_socket(
                    self.socket, server_side=True,
                    do_handshake_on_connect=False)
        except (OSError, ValueError) as error:
            raise exception.CannotMonitor(
                what=f'for others at {options.address}:{options.port}',
                reason=str(error)) from error

    def answer(self) -> str:
        """All metrics, as they are now."""
        with self._lock, _uncollected():
            return exposition.text(self._families())

    def start_push(self, options: push.Options) -> None:
        """Push all metrics from now on, too.

        :raises CannotMonitor: it cannot be
        """
        self._push = push.prepare(options, self._locked)
        self._push.start()

    def _locked(self) -> list[exposition.Family]:
        with self._lock:
            return self._families()

    def _families(self) -> list[exposition.Family]:
        look = self._monitor.look()
        if self._push:
            look = dataclasses.replace(
                look, failed_pushes=self._push.failures)
        return metrics.families(look)

    def watch(self, found: list[servers.Server]) -> None:
        with self._lock:
            self._monitor.watch(found)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Do not look for cycles, of which an answer has none.

    It has so many objects that this would be a fifth of its time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _context(options: Options) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.certificate, options.key or None)
    if options.clients:
        context.load_verify_locations(options.clients)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def run(options: Options) -> int:
    """Serve until SIGTERM or SIGINT; the exit status.

    :raises CannotMonitor: there is no such user, for one
    :raises OutsideHost: servers cannot be seen
    """
    try:
        account = pwd.getpwnam(options.user)
    except KeyError as error:
        raise exception.CannotMonitor(
            what=f'as user {options.user}', reason='there is none of this '
            'name; choose one with --user') from error
    host = host_files.Host()
    namespaces.verify(host)
    lacking = privileges.lacking(host)
    if lacking:
        raise exception.CannotMonitor(what='this host', reason=lacking)
    with contextlib.closing(
            monitor_look.Monitor(options.http)) as monitor:
        reader = finding.start(monitor.follow, account)
        with Server(options, monitor) as server:
            privileges.drop(account)
            if options.push_to:
                server.start_push(options.push_to)
            return _serve(server, reader)


def _serve(server: Server, reader: int) -> int:
    """Answer until a signal, 0, or until nobody finds servers, 1."""
    statuses = [0]

    def end(*_: object) -> None:
        # Not from the thread that serves, which would wait for itself.
        threading.Thread(target=server.shutdown, daemon=True).start()

    def alone() -> None:
        print('nova-rt-monitor: the process that finds servers has ended',
              file=sys.stderr, flush=True)
        statuses.append(1)
        end()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    finding.follow(reader, server.watch, alone)
    server.serve_forever()
    return statuses[-1]
