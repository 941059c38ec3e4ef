# SPDX-License-Identifier: Apache-2.0

"""The foreign servers, and what each needs."""

from collections.abc import Callable, Iterable, Iterator
import csv
import dataclasses
import pathlib
import shutil

from tests.full.signals import compare
from tests.full.signals import datagrams
from tests.full.signals import programs
from tests.full.signals import sip
from tests.full.signals import stage as signals_stage
from tests.full.signals import stores
from tests.full.signals import web

TABLE = pathlib.Path(__file__).parents[3] / 'doc/source/admin/signals.csv'
Row = compare.Row | compare.Counted


@dataclasses.dataclass(frozen=True)
class Server:
    """A server of the suite.

    :ivar rows: yields the lines of the server, with so many requests each
    :ivar packages: Debian packages that are unpacked for the server
    :ivar commands: programs that this machine must have
    """

    rows: Callable[[signals_stage.Stage, int], Iterator[Row]]
    packages: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    is_tcp: bool = True

    @property
    def missing(self) -> str:
        """Returns the commands that this machine does not have, or ''."""
        return ', '.join(each for each in self.commands
                         if not shutil.which(each))


#: In the order of the table.
SERVERS = {
    'nginx': Server(web.of_nginx, ('nginx-light', 'nghttp2-client'),
                    ('openssl', 'curl')),
    'apache': Server(web.of_apache, ('apache2-bin',)),
    'haproxy': Server(web.of_haproxy, ('nginx-light', 'haproxy')),
    'redis': Server(stores.of_redis, ('redis-server',)),
    'memcached': Server(stores.of_memcached, ('memcached',)),
    'postgres': Server(stores.of_postgres, ('postgresql-15',)),
    'python': Server(programs.of_python),
    'node': Server(programs.of_node, commands=('node',)),
    'go': Server(programs.of_go, ('nginx-light',), ('go',)),
    'java': Server(programs.of_java, commands=('java', 'javac')),
    'io_uring': Server(programs.of_io_uring, ('liburing-dev',), ('cc',)),
    'grpc': Server(programs.of_grpc, ('python3-grpcio',)),
    'dnsmasq': Server(datagrams.of_dnsmasq, ('dnsmasq-base', 'dnsperf'),
                      is_tcp=False),
    'sipp': Server(datagrams.of_sipp, ('sip-tester',), is_tcp=False),
    'kamailio': Server(sip.of_kamailio, ('kamailio',)),
    'calls': Server(sip.of_calls, ('sip-tester',))}


def packages(names: Iterable[str]) -> list[str]:
    """Returns the packages of some servers."""
    return sorted({each for name in names for each in SERVERS[name].packages})


def documented() -> dict[tuple[str, str], str]:
    """Returns the verdict of each line of the documentation's table.

    :returns: verdicts by the name of the server and its traffic
    """
    with TABLE.open(newline='') as file:
        return {(row['Server'], row['Traffic']): row['Verdict']
                for row in csv.DictReader(file)}
