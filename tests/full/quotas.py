# SPDX-License-Identifier: Apache-2.0

"""Counts and admits in several processes at once, with MariaDB.

usage: python -m tests.full.quotas [--unlocked]

Nova's fixtures let one thread at a time write to SQLite, so that their tests
cannot show what the row of the lock does.  Here, processes with several
threads each count the servers of a project in the API database and add one
while there is room.  --unlocked leaves out the lock, to see that more servers
than the limit are then admitted.
"""

from collections.abc import Iterator
import contextlib
import multiprocessing
import pathlib
import subprocess
import sys
import tempfile
import threading

from nova import context as nova_context
from nova.db.api import api as api_db
from nova.db.api import models
from oslo_utils import uuidutils
import sqlalchemy
from sqlalchemy import exc

from nova_rt.services.api import pending

PROCESSES, THREADS, TRIES, LIMIT = 4, 5, 10, 37
_PROJECT = 'at-once'
_PATIENCE = 60


@contextlib.contextmanager
def _server(folder: pathlib.Path) -> Iterator[str]:
    """Runs MariaDB on a socket of its own, and yields the URL."""
    common = ['--no-defaults', '--user=root', f'--datadir={folder}/data']
    with (folder / 'log').open('wb') as log:
        subprocess.run(
            ['mariadb-install-db', *common, '--skip-test-db',
             '--auth-root-authentication-method=normal'],
            check=True, stdout=log, stderr=log)
        process = subprocess.Popen(
            ['mariadbd', *common, f'--socket={folder}/socket',
             '--skip-networking', '--skip-log-bin',
             f'--pid-file={folder}/pid'], stdout=log, stderr=log)
        try:
            yield (f'mysql+pymysql://root@localhost/%s'
                   f'?unix_socket={folder}/socket')
        finally:
            process.terminate()
            process.wait()


def _prepare(url: str) -> str:
    """Makes the tables as soon as the server answers."""
    with sqlalchemy.create_engine(url % '').connect() as connection:
        connection.execute(sqlalchemy.text('CREATE DATABASE nova_api'))
    models.BASE.metadata.create_all(
        sqlalchemy.create_engine(url % 'nova_api'))
    return url % 'nova_api'


def _prepared(url: str) -> str:
    pause = threading.Event()
    for _ in range(_PATIENCE):
        with contextlib.suppress(exc.OperationalError):
            return _prepare(url)
        pause.wait(1)
    return _prepare(url)


def _admit(locked: bool) -> None:
    """One request: counts, and adds a server if there is room."""
    context = nova_context.get_admin_context()
    lock = (pending.locked(context, _PROJECT) if locked
            else contextlib.nullcontext())
    with lock, api_db.context_manager.writer.using(context) as session:
        if session.query(models.InstanceMapping).filter_by(
                project_id=_PROJECT).count() < LIMIT:
            session.add(models.InstanceMapping(
                instance_uuid=uuidutils.generate_uuid(),
                project_id=_PROJECT))


def work(url: str, locked: bool) -> None:
    """Sends the requests of one process."""
    api_db.context_manager.configure(connection=url)
    threads = [threading.Thread(
        target=lambda: [_admit(locked) for _ in range(TRIES)])
        for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main(locked: bool = True) -> int:
    """Prints how many were admitted; returns 1 if that is not the limit."""
    with tempfile.TemporaryDirectory() as folder, _server(
            pathlib.Path(folder)) as server:
        url = _prepared(server)
        # Forked, because Nova's modules take seconds to import.
        fork = multiprocessing.get_context('fork')
        workers = [fork.Process(target=work, args=(url, locked))
                   for _ in range(PROCESSES)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        failed = any(worker.exitcode for worker in workers)
        with sqlalchemy.create_engine(url).connect() as connection:
            count = connection.execute(sqlalchemy.text(
                'SELECT COUNT(*) FROM instance_mappings')).scalar()
    print(f'{PROCESSES * THREADS * TRIES} requests of {PROCESSES} processes: '
          f'{count} admitted, the limit is {LIMIT}')
    return int(failed or count != LIMIT)


if __name__ == '__main__':
    sys.exit(main('--unlocked' not in sys.argv))
