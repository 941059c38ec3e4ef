# SPDX-License-Identifier: Apache-2.0

"""The service: answers Prometheus with what the programs have counted.

The process that listens has no privileges; it only has open maps.  The process
that finds servers has no socket.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import gc
import http.server
import pwd
import signal
import socket
import ssl
import sys
import threading
from typing import Any

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import namespaces
from nova_rt.rules import exception
from rt_monitor import compute
from rt_monitor import exposition
from rt_monitor import finding
from rt_monitor import libbpf
from rt_monitor import metrics
from rt_monitor import objects
from rt_monitor import privileges
from rt_monitor import push
from rt_monitor import sched
from rt_monitor import servers
from rt_monitor import snapshot as monitor_snapshot

PATH = '/metrics'
#: The longest time that a client may take, in seconds.
_PATIENCE = 10


@dataclasses.dataclass(frozen=True, slots=True)
class ServiceOptions:
    """The options of the service.

    :ivar user: the user that the listening process runs as
    :ivar certificate: the file of the certificate for TLS; '': no TLS
    :ivar key: the file of the key of this certificate
    :ivar clients: the file of the authority that must have signed the
        certificates of clients; '': clients need no certificate
    :ivar http: whether to read requests of HTTP/1, which are tenants' data
    :ivar push_to: where to push the metrics as well; None for nowhere
    :ivar report: the file of the report of nova-compute; '' for none
    """

    address: str = '127.0.0.1'
    port: int = 9760
    user: str = 'nobody'
    certificate: str = ''
    key: str = ''
    clients: str = ''
    http: bool = False
    push_to: push.PushOptions | None = None
    report: str = compute.DEFAULT


class _Handler(http.server.BaseHTTPRequestHandler):
    server: 'MetricsServer'
    timeout = _PATIENCE
    server_version = 'nova-rt-monitor'
    sys_version = ''

    def do_GET(self) -> None:  # noqa: N802
        if self.path.partition('?')[0] != PATH:
            self.send_error(404, f'This service answers only {PATH}')
            return
        body = self.server.answer().encode()
        self.send_response(200)
        self.send_header('Content-Type', exposition.CONTENT_TYPE)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: a log line for each scrape would be useless."""


class MetricsServer(http.server.ThreadingHTTPServer):
    """An HTTP server that answers scrapes, one at a time."""

    daemon_threads = True

    def __init__(self, options: ServiceOptions,
                 monitor: monitor_snapshot.Monitor) -> None:
        """Begins to listen, but does not answer yet.

        :raises CannotMonitor: when the service cannot listen, for example
            because the address is in use
        """
        self._monitor = monitor
        self._report = options.report
        self._lock = threading.Lock()
        self._push: push.Exporter | None = None
        if ':' in options.address:
            self.address_family = socket.AF_INET6
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
        """Returns the text of all metrics as they are now."""
        with self._lock, _uncollected():
            return exposition.text(self._families())

    def start_push(self, options: push.PushOptions) -> None:
        """Begins to push all metrics.

        :raises CannotMonitor: when the metrics cannot be pushed
        """
        self._push = push.prepare(options, self._locked)
        self._push.start()

    def _locked(self) -> list[exposition.Family]:
        with self._lock:
            return self._families()

    def _families(self) -> list[exposition.Family]:
        snapshot = self._monitor.read(with_edges=False)
        if self._push:
            snapshot = dataclasses.replace(
                snapshot, failed_pushes=self._push.failures)
        return [*metrics.families(snapshot), *compute.families(self._report)]

    def watch(self, running: list[servers.Watched]) -> None:
        """Watches these servers, and no others."""
        with self._lock:
            self._monitor.watch(running)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores the error of a client that closed its connection."""


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Suspends the garbage collector's search for reference cycles.

    An answer has no cycles, but so many objects that the search would take a
    fifth of its time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _context(options: ServiceOptions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.certificate, options.key or None)
    if options.clients:
        context.load_verify_locations(options.clients)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def run(options: ServiceOptions) -> int:
    """Serves until SIGTERM or SIGINT, and returns the exit status.

    :raises CannotMonitor: when the service cannot start, for example because
        the user does not exist
    :raises OutsideHost: when this process cannot see the servers of the host
    """
    try:
        account = pwd.getpwnam(options.user)
    except KeyError as error:
        raise exception.CannotMonitor(
            what=f'as user {options.user}', reason='this user does not '
            'exist; choose another one with --user') from error
    host = host_files.Host()
    namespaces.verify(host)
    lacking = privileges.lacking(host)
    if lacking:
        raise exception.CannotMonitor(what='this host', reason=lacking)
    if not objects.path(sched.Scheduler.name).exists():
        # The service still serves what needs no programs, such as power.
        print(f'nova-rt-monitor: {libbpf.BUILD}', file=sys.stderr,
              flush=True)
    with contextlib.closing(
            monitor_snapshot.Monitor(options.http)) as monitor:
        reader = finding.start(monitor.follow, account)
        with MetricsServer(options, monitor) as server:
            privileges.drop(account)
            if options.push_to:
                server.start_push(options.push_to)
            return _serve(server, reader)


def _serve(server: MetricsServer, reader: int) -> int:
    """Answers until a signal comes or the search for servers has ended.

    :returns: 0 after a signal; 1 after the process that finds servers ended
    """
    statuses = [0]

    def end(*_: object) -> None:
        # The thread that serves must not call this, because it would wait
        # for itself.
        threading.Thread(target=server.shutdown, daemon=True).start()

    def alone() -> None:
        print('nova-rt-monitor: the process that finds servers has ended; '
              'the service also ends',
              file=sys.stderr, flush=True)
        statuses.append(1)
        end()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    finding.follow(reader, server.watch, alone)
    server.serve_forever()
    return statuses[-1]
