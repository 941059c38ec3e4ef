# SPDX-License-Identifier: Apache-2.0

"""Savings for a process that runs one Nova after the other.

Each test starts services on databases of its own.  Here are the caches and
the waits of the libraries below them; nothing of Nova is replaced.
"""

from collections.abc import Callable
from concurrent import futures
import functools
import gc
from importlib import metadata
import operator
import sys
import threading
import time
from typing import Any

import fixtures
from futurist import _thread
from futurist import _utils
from oslo_db.sqlalchemy import engines
from oslo_messaging._drivers import impl_fake
import sqlalchemy
from sqlalchemy import pool

#: how long a worker looks for work until it looks whether it shall end
IDLE_SECONDS = 1.0

_FIND = metadata.entry_points

# Compiled statements by dialect and text, and the one dialect of all engines.
_STATEMENTS: dict[Any, Any] = {}
_DIALECTS: dict[str, sqlalchemy.Dialect] = {}


class Engines(fixtures.Fixture):
    """Engines of SQLite files that keep their connections and statements.

    oslo.db opens a connection for each transaction, and SQLite reads the
    whole schema each time.  SQLAlchemy compiles each statement once for each
    engine; all engines here are of one dialect, and use one cache.
    """

    def _setUp(self) -> None:
        create = engines.create_engine

        def create_engine(*args: Any, **kwargs: Any) -> sqlalchemy.Engine:
            # It sleeps after each transaction, for the sake of eventlet.
            kwargs['thread_checkin'] = False
            engine = create(*args, _engine_target=_with_pool, **kwargs)
            engine.dialect = _DIALECTS.setdefault(
                engine.url.drivername, engine.dialect)
            engine.update_execution_options(compiled_cache=_STATEMENTS)
            return engine

        self.useFixture(fixtures.MonkeyPatch(
            'oslo_db.sqlalchemy.engines.create_engine', create_engine))


def _with_pool(url: sqlalchemy.URL, **kwargs: Any
               ) -> tuple[sqlalchemy.Engine, sqlalchemy.Engine]:
    if kwargs.get('poolclass') is pool.NullPool:
        kwargs |= {'poolclass': pool.QueuePool, 'max_overflow': -1,
                   'pool_pre_ping': False}
    engine = sqlalchemy.create_engine(url, **kwargs)
    return engine, engine


class Messages(fixtures.Fixture):
    """A bus that wakes waiting servers; the fake bus looks every 50 ms."""

    def _setUp(self) -> None:
        self._sent = threading.Condition()
        for name in ('FakeExchange.deliver_message', 'FakeListener.stop'):
            self.useFixture(fixtures.MonkeyPatch(
                f'oslo_messaging._drivers.impl_fake.{name}',
                self._waking(operator.attrgetter(name)(impl_fake))))
        self.useFixture(fixtures.MonkeyPatch(
            'oslo_messaging._drivers.impl_fake.time', self))

    def _waking(self, method: Callable[..., None]) -> Callable[..., None]:
        def wrapper(*args: Any, **kwargs: Any) -> None:
            method(*args, **kwargs)
            with self._sent:
                self._sent.notify_all()
        return wrapper

    # In place of the module.
    time = staticmethod(time.time)

    def sleep(self, seconds: float) -> None:
        """Until a message comes, and no longer than *seconds*."""
        with self._sent:
            self._sent.wait(seconds)


class Workers(fixtures.Fixture):
    """A worker without work is woken when it shall end.

    Else it looks a hundred times a second, and there are dozens of them.
    """

    def _setUp(self) -> None:
        join = _thread.ThreadWorker.join

        def wake_and_join(worker: Any, timeout: float | None = None) -> None:
            while (timeout is None and worker.should_stop
                   and worker.is_alive()):
                worker.work_queue.put(_utils.WorkItem(
                    futures.Future(), lambda: None))
                join(worker, 0.005)
            join(worker, timeout)

        self.useFixture(fixtures.MonkeyPatch(
            'futurist._thread.ThreadWorker.join', wake_and_join))


class EntryPoints(fixtures.Fixture):
    """A cache of entry points: one read for each sys.path."""

    def _setUp(self) -> None:
        def entry_points(**wanted: str) -> Any:
            return _entry_points(tuple(sys.path), *sorted(wanted.items()))

        self.useFixture(fixtures.MonkeyPatch(
            'importlib.metadata.entry_points', entry_points))


@functools.cache
def _entry_points(path: tuple[str, ...], *wanted: tuple[str, str]) -> Any:
    return _FIND(**dict(wanted))


class Policy(fixtures.Fixture):
    """Nova's tests write a policy, and ours read the real one at once."""

    def _setUp(self) -> None:
        self.useFixture(fixtures.MonkeyPatch(
            'nova.tests.fixtures.PolicyFixture', fixtures.Fixture))


@functools.cache
def _keep() -> None:
    gc.collect()
    gc.freeze()


class Thrift(fixtures.Fixture):
    """All of these; and what is left of the first test is never collected.

    Those are modules, which each full collection would look through.
    """

    def _setUp(self) -> None:
        self.addCleanup(_keep)
        for each in (Engines, Messages, Workers, EntryPoints, Policy):
            self.useFixture(each())
