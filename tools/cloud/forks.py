# SPDX-License-Identifier: Apache-2.0

"""Starts several services as forks of one process, which saves imports.

More than half of the modules that a service of OpenStack imports are imported
by other services, too: SQLAlchemy, oslo, the clients.  The process imports
such modules once, before the process knows which service it will be.  Each
service then is a process with a session, a log and a configuration of its
own, exactly as if it had been started by itself.

Usage: ``python -m cloud.forks [--databases] SERVICE...``

With ``--databases``, no service answers requests.  Each process ends when the
databases of its service are complete.
"""

from collections.abc import Callable, Sequence
import gc
import importlib
import os
import pathlib
import sys
import traceback

from cloud import kept
from cloud import processes
from cloud import serve
from cloud import settings

#: Libraries that nearly all services import.  No module of a service is among
#: them: such modules choose threads and configurations for their service.
COMMON = (
    'sqlalchemy.orm', 'sqlalchemy.dialects.sqlite',
    'oslo_db.sqlalchemy.enginefacade', 'oslo_policy.policy', 'kombu.messaging',
    'oslo_cache', 'oslo_middleware', 'oslo_concurrency.processutils',
    'oslo_log.log', 'oslo_privsep.daemon',
    'osprofiler.web', 'osprofiler.sqlalchemy', 'keystonemiddleware.auth_token',
    'keystoneauth1.loading', 'openstack', 'jsonschema', 'paste.deploy',
    'routes', 'webob.dec', 'os_traits',
    'pyroute2', 'castellan.key_manager')
# Nova refuses to start with threads if this module was imported before.
_EVENTLET = 'eventlet'


def import_common() -> None:
    """Imports the modules that most services need, but never eventlet."""
    sys.modules[_EVENTLET] = None  # type: ignore[assignment]
    for name in COMMON:
        importlib.import_module(name)
    del sys.modules[_EVENTLET]


def _start(log: pathlib.Path, service: str, run: Callable[[str], None]
           ) -> int:
    """Returns the pid of a new process that runs a service."""
    pid = os.fork()
    if not pid:
        _become(log, service, run)
    return pid


def _become(log: pathlib.Path, service: str, run: Callable[[str], None]
            ) -> None:
    """Runs a service in this process, and never returns."""
    status = 1
    try:
        os.setsid()
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT,
                             0o644)
        for output in (1, 2):
            os.dup2(descriptor, output)
        # The name that ps shows.
        pathlib.Path('/proc/self/comm').write_text(service)
        # Some services parse the command line themselves.
        sys.argv[1:] = []
        run(service)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _complete(cloud: settings.Settings, services: Sequence[str]) -> int:
    """Completes databases, and returns the number of those that failed."""
    pids = [_start(cloud.log_file(service), service, serve.complete)
            for service in services]
    return sum(os.waitpid(pid, 0)[1] != 0 for pid in pids)


def main(arguments: Sequence[str]) -> int:
    """Starts the services that the command line names."""
    cloud = settings.load()
    gc.disable()
    import_common()
    # The forks then share the memory of the modules.
    gc.freeze()
    if arguments[:1] == [kept.OPTION]:
        return _complete(cloud, arguments[1:])
    for service in arguments:
        pid = _start(cloud.log_file(service), service, serve.run)
        processes.Process(cloud.run / f'{service}.pid').adopt(pid)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
