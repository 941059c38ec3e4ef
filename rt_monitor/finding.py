# SPDX-License-Identifier: Apache-2.0

"""The process that finds servers for the one that listens.

It keeps the one privilege that this takes, has no socket, and is told
nothing: it writes a line into a pipe when something is different, and ends
with its reader.
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

#: Between two looks, in seconds.
INTERVAL_S = 5


def start(follow: Callable[[list[servers.Server]], None],
          account: pwd.struct_passwd) -> int:
    """Start the process; the pipe to read from.

    Called before there are threads.

    :param follow: is called in that process, with what was found
    :param account: whom it runs as
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
    finally:
        os._exit(status)


def _write(writer: int, follow: Callable[[list[servers.Server]], None]
           ) -> None:
    finder = groups.Finder(host_files.Host())
    last: list[servers.Server] | None = None
    reader_gone = select.poll()
    reader_gone.register(writer, 0)
    with os.fdopen(writer, 'w', buffering=1) as pipe:
        while not reader_gone.poll(0):
            try:
                found = finder.find()
                follow(found)
                if found != last:
                    print(encode(found), file=pipe, flush=True)
                last = found
            except (exception.RTError, ValueError) as error:
                print(f'nova-rt-monitor: servers are not found: {error}',
                      file=sys.stderr, flush=True)
            reader_gone.poll(INTERVAL_S * 1000)


def encode(found: Iterable[servers.Server]) -> str:
    """Servers as a line."""
    return json.dumps([{
        **{name: getattr(server, name) for name in _PLAIN},
        'addresses': server.addresses, 'taps': server.taps,
        'groups': [*server.groups.items()],
        'reservation': server.reservation and dataclasses.astuple(
            server.reservation),
    } for server in found])


def decode(line: str) -> list[servers.Server]:
    """Servers of a line that :func:`encode` made."""
    return [_decoded(one) for one in json.loads(line)]


_PLAIN = tuple(
    field.name for field in dataclasses.fields(servers.Server)
    if field.name not in ('addresses', 'groups', 'reservation', 'taps'))


def _decoded(one: dict[str, Any]) -> servers.Server:
    granted = one.pop('reservation')
    return servers.Server(
        groups=dict(map(tuple, one.pop('groups'))),
        addresses=tuple(one.pop('addresses')),
        taps=tuple(one.pop('taps')), **one,
        reservation=servers.Reservation(*granted) if granted else None)


def follow(reader: int, take: Callable[[list[servers.Server]], None],
           ended: Callable[[], None]) -> threading.Thread:
    """Pass on each line of the pipe until it ends; in a thread."""
    def run() -> None:
        with os.fdopen(reader) as pipe:
            for line in pipe:
                take(decode(line))
        ended()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread
