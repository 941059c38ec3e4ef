# SPDX-License-Identifier: Apache-2.0

"""The process that finds servers for the process that listens.

This process keeps the one privilege that it needs, has no socket, and reads
no input.  Whenever the servers have changed, it writes a line into a pipe.
The process ends when the reader of the pipe ends.
"""

from collections.abc import Callable, Iterable
import dataclasses
import json
import os
import pwd
import select
import sys
import threading
from typing import Any

from nova_rt.machine.host import files as host_files
from nova_rt.rules import exception
from rt_monitor import groups
from rt_monitor import privileges
from rt_monitor import servers

#: The time between two searches, in seconds.
INTERVAL_S = 5


def start(follow: Callable[[list[servers.Watched]], None],
          account: pwd.struct_passwd) -> int:
    """Starts the process.

    This function must be called before the caller starts threads.

    :param follow: a function that is called in the new process with the
        servers that were found
    :param account: the user that the new process runs as
    :returns: the descriptor of the pipe to read from
    """
    reader, writer = os.pipe()
    if os.fork():
        os.close(writer)
        return reader
    status = 1
    try:
        os.close(reader)
        privileges.drop(account, privileges.CAP_DAC_READ_SEARCH)
        _write(writer, follow)
    except (BrokenPipeError, KeyboardInterrupt):
        status = 0
    except OSError as error:
        print(f'nova-rt-monitor: cannot find the servers any more: {error}',
              file=sys.stderr, flush=True)
    finally:
        os._exit(status)


def _write(writer: int, follow: Callable[[list[servers.Watched]], None]
           ) -> None:
    finder = groups.Finder(host_files.Host())
    last: list[servers.Watched] | None = None
    reader_gone = select.poll()
    reader_gone.register(writer, 0)
    with os.fdopen(writer, 'w', buffering=1) as pipe:
        while not reader_gone.poll(0):
            try:
                running = finder.find()
                follow(running)
                if running != last:
                    print(encode(running), file=pipe, flush=True)
                last = running
            except (exception.RTError, ValueError) as error:
                print(f'nova-rt-monitor: cannot find the servers: {error}',
                      file=sys.stderr, flush=True)
            reader_gone.poll(INTERVAL_S * 1000)


def encode(running: Iterable[servers.Watched]) -> str:
    """Returns servers as a line of JSON."""
    return json.dumps([{
        **{name: getattr(server, name) for name in _PLAIN},
        'addresses': server.addresses, 'taps': server.taps,
        'groups': [*server.groups.items()],
        'reservation': server.reservation and dataclasses.astuple(
            server.reservation),
    } for server in running])


def decode(line: str) -> list[servers.Watched]:
    """Returns the servers of a line that :func:`encode` made."""
    return [_decoded(server) for server in json.loads(line)]


_PLAIN = tuple(
    field.name for field in dataclasses.fields(servers.Watched)
    if field.name not in ('addresses', 'groups', 'reservation', 'taps'))


def _decoded(fields: dict[str, Any]) -> servers.Watched:
    granted = fields.pop('reservation')
    return servers.Watched(
        groups=dict(map(tuple, fields.pop('groups'))),
        addresses=tuple(fields.pop('addresses')),
        taps=tuple(fields.pop('taps')), **fields,
        reservation=servers.Granted(*granted) if granted else None)


def follow(reader: int, take: Callable[[list[servers.Watched]], None],
           ended: Callable[[], None]) -> threading.Thread:
    """Starts a thread that passes on each line of the pipe.

    :param take: a function that is called with the servers of each line
    :param ended: a function that is called at the end of the pipe
    """
    def run() -> None:
        with os.fdopen(reader) as pipe:
            for line in pipe:
                take(decode(line))
        ended()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread
