# SPDX-License-Identifier: Apache-2.0

"""nova-compute ends at a seam, as by SIGKILL: from then on it does nothing.

A seam is a step of a compute that others can see: a transaction of the
database, a request to Placement, a message, a call of libvirt, a write to
the kernel.  All computes share the process of a test, so it is the threads
that work for one of them that end: with an exception that neither Nova nor
we catch, raised again at each further seam, so that no clean-up gets
anything done.
"""

from collections.abc import Callable, Iterator
import contextlib
import sys
import threading
from typing import Any

import fixtures
from nova.compute import manager
from oslo_db.sqlalchemy import enginefacade
import oslo_messaging

from tests.emulation import kernel as emulation

#: Transactions that no reservation depends on: a kill before one of them has
#: the same effect as a kill before the seam that follows.
_NOTES = ('action_', 'console_', 'instance_fault', 'instance_info_cache',
          'service_')
_DOMAIN = ('createWithFlags', 'destroy', 'undefine', 'undefineFlags',
           'resume', 'shutdown')
_CONNECTION = ('defineXML', 'createXML')
#: Methods of a compute for whose answer the caller waits.  Nobody waits for
#: the answer of the other methods, although tests call them directly.
_CALLS = ('check_can_live_migrate_destination',
          'check_can_live_migrate_source', 'pre_live_migration',
          'post_live_migration_at_destination', 'rt_change_reservation')
_SECONDS = 60


class Killed(BaseException):
    """The process has ended."""


class Killer(fixtures.Fixture):
    """Counts the seams, and ends a compute at one of them.

    :ivar seams: those passed since :meth:`arm`: the host and what was next
    :ivar dead: the hosts whose compute has ended
    :ivar lost: messages that a compute could not receive any more
    """

    def __init__(self, look: Callable[[str], None]) -> None:
        """:param look: called with a host after what its compute did"""
        super().__init__()
        self._look = look
        self._local = threading.local()
        self._quiet = threading.Condition()
        self._busy = 0
        self._at: int | str | None = None
        self._armed = False
        self.seams: list[str] = []
        self.dead: set[str] = set()
        self.lost: list[str] = []

    # What tests do.

    @contextlib.contextmanager
    def armed(self, at: int | str | None = None) -> Iterator[None]:
        """Lets the compute that reaches seam *at* within the block end there.

        :param at: which one, counted from 1, or its name
        """
        self.seams, self.dead, self.lost = [], set(), []
        self._at, self._armed = at, True
        try:
            yield
            self.wait()
        finally:
            self._armed = False

    def wait(self) -> None:
        """Waits until no thread works for any compute."""
        with self._quiet:
            if not self._quiet.wait_for(lambda: not self._busy, _SECONDS):
                raise AssertionError(f'{self._busy} tasks did not end')

    def revive(self) -> list[str]:
        """Returns hosts whose compute must be started; they may act again."""
        dead, self.dead = sorted(self.dead), set()
        return dead

    # Seams.

    def seam(self, name: str) -> None:
        """Passes a seam, before the thread does something.

        :raises Killed: it does not happen
        """
        host = getattr(self._local, 'host', None)
        if host is None or getattr(self._local, 'shield', 0):
            return
        with self._quiet:
            if host in self.dead:
                raise Killed
            if not self._armed:
                return
            self.seams.append(f'{host}: {name}')
            if self._at in (len(self.seams), self.seams[-1]):
                self.dead.add(host)
                raise Killed

    @contextlib.contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Runs code of another process, which lives on."""
        self._local.shield = getattr(self._local, 'shield', 0) + 1
        try:
            yield
        finally:
            self._local.shield -= 1

    def work(self, host: str | None, name: str, function: Any, *args: Any,
             **kwargs: Any) -> Any:
        """Does the work of a thread for a compute; None: for nobody."""
        if host in self.dead:
            self.lost.append(f'{host}: {name}')
            return None
        before = vars(self._local).copy()
        vars(self._local).update(host=host, shield=0, depth=0)
        with self._quiet:
            self._busy += 1
        try:
            return function(*args, **kwargs)
        except Killed:
            return None  # Nobody waits for a process that was killed.
        finally:
            vars(self._local).update({'host': None, 'shield': 0, 'depth': 0}
                                     | before)
            with self._quiet:
                self._busy -= 1
                self._quiet.notify_all()

    # The following methods place the seams.

    def _setUp(self) -> None:
        for name, new in (
                ('oslo_messaging.rpc.dispatcher.RPCDispatcher._do_dispatch',
                 self._dispatch),
                ('nova.thread_pool_factory.spawn_on', self._spawn),
                ('oslo_db.sqlalchemy.enginefacade.'
                 '_TransactionContextManager._transaction_scope',
                 self._transaction)):
            self._patch(name, new)
        self._step('oslo_messaging.transport.Transport._send', 'RPC',
                   lambda transport, target, ctxt, message, **kwargs:
                   message.get('method'), elsewhere=False)
        client = 'nova.scheduler.client.report.SchedulerReportClient.'
        for verb in ('put', 'post', 'delete'):
            self._step(client + verb, f'Placement {verb}',
                       lambda client, url, *args, **kwargs:
                       url.split('/')[1])
        self._patch(client + 'get', self._shielded)
        fake = 'nova.tests.fixtures.libvirt.'
        for owner, names in (('Domain', _DOMAIN), ('Connection',
                                                   _CONNECTION)):
            for name in names:
                self._step(f'{fake}{owner}.{name}', f'libvirt {name}')
        self._kernels()

    def _kernels(self) -> None:
        for name in ('write', 'make', 'remove'):
            self._step(f'{emulation.__name__}.Kernel.{name}',
                       f'kernel {name}', lambda kernel, path, *text:
                       ' '.join((path.rpartition('/')[2], *text)))
        for name in ('set_policy', 'place_vcpu'):
            self._step(f'nova_rt.machine.privsep.{name}', f'privsep {name}',
                       lambda *args: args[3])

    def _patch(self, name: str, new: Any) -> None:
        owner, _, attribute = name.rpartition('.')
        old = getattr(_find(owner), attribute)

        def patched(*args: Any, **kwargs: Any) -> Any:
            return new(old, *args, **kwargs)

        self.useFixture(fixtures.MonkeyPatch(name, patched))

    def _step(self, name: str, kind: str, what: Any = lambda *args,
              **kwargs: '', elsewhere: bool = True) -> None:
        """Places a seam before each call."""
        def step(old: Any, *args: Any, **kwargs: Any) -> Any:
            self.seam(f'{kind} {what(*args, **kwargs)}'.strip())
            if not elsewhere:
                return old(*args, **kwargs)
            result = self._shielded(old, *args, **kwargs)
            host = getattr(self._local, 'host', None)
            if host is not None and not self._local.shield:
                self._look(host)
            return result
        self._patch(name, step)

    def _shielded(self, old: Any, *args: Any, **kwargs: Any) -> Any:
        with self.elsewhere():
            return old(*args, **kwargs)

    def _dispatch(self, old: Any, dispatcher: Any, endpoint: Any,
                  method: str, *args: Any) -> Any:
        # Nova 34 wraps its endpoints.
        worker = getattr(endpoint, '_endpoint', endpoint)
        host = (worker.host if isinstance(worker, manager.ComputeManager)
                else None)
        answer = self.work(host, method, old, dispatcher, endpoint, method,
                           *args)
        if method in _CALLS and host in self.dead:
            raise oslo_messaging.MessagingTimeout(f'{host} was killed')
        return answer

    def _spawn(self, old: Any, kind: Any, function: Any, *args: Any,
               **kwargs: Any) -> Any:
        host = getattr(self._local, 'host', None)
        if host is None:
            return old(kind, function, *args, **kwargs)
        with self._quiet:
            self._busy += 1  # The compute has not started yet.

        def run(*args: Any, **kwargs: Any) -> Any:
            with self._quiet:
                self._busy -= 1
            return self.work(host, str(function), function, *args, **kwargs)
        return old(kind, run, *args, **kwargs)

    @contextlib.contextmanager
    def _transaction(self, old: Any, scope: Any, context: Any
                     ) -> Iterator[Any]:
        depth = getattr(self._local, 'depth', 0)
        if scope._mode is enginefacade._WRITER and not depth:
            name = _caller()
            if not name.startswith(_NOTES):
                self.seam(f'DB {name}')
        self._local.depth = depth + 1
        try:
            with old(scope, context) as resource:
                yield resource
        finally:
            self._local.depth = depth


def _find(name: str) -> Any:
    """Returns a module, or a class in a module."""
    module, _, attribute = name.rpartition('.')
    if name in sys.modules:
        return sys.modules[name]
    return getattr(_find(module), attribute)


def _caller() -> str:
    """Returns the function of nova.db that opens the transaction."""
    frame: Any = sys._getframe()
    for _ in range(20):
        frame = frame.f_back
        if frame is None:
            break
        function = frame.f_locals.get('f')
        if frame.f_code.co_name == 'wrapper' and callable(function):
            return str(function.__name__)
    return 'transaction'
