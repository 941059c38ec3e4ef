# SPDX-License-Identifier: Apache-2.0

"""Times the commands of ``openstack rt`` in a cloud with many hosts.

usage: .venv/bin/python -m benchmarks.commands [hosts [FILE]]
       (default 1000)

nova-api with its middleware and Placement are real.  Both run in this process,
with SQLite, as in the functional tests.  One host is a nova-compute with a
server.  The others, with 64 pCPUs each, are only records: a service, a compute
node with a map, and a provider with inventories and an allocation.  The time
goes from the call of the command until the table is text, and so leaves out
the start of the client.  It is the median of ROUNDS (default 7) runs; the CPU
time is that of the command, nova-api and Placement together.  With a file,
writes the page's table there.  Exits with 1 if a median is above 1 s.
"""

import csv
import io
import pathlib
import sys
import unittest

from tests.functional import many_hosts

LIMIT_S = 1
_COLUMNS = ('Command', 'Median (s)', 'Longest (s)', 'CPU time (s)',
            'Requests', 'Rows')


def main(count: str = '1000', file: str = '') -> int:
    """Measures and prints; returns 1 above a limit."""
    many_hosts.ManyHostsTest.count = int(count)
    result = unittest.TextTestRunner(stream=io.StringIO()).run(
        many_hosts.ManyHostsTest())
    if not result.wasSuccessful():
        print(*(text for _, text in result.errors + result.failures))
        return 1
    found = many_hosts.ManyHostsTest.found
    for timed in found:
        print(timed)
    if file:
        with pathlib.Path(file).open('w', newline='') as output:
            csv.writer(output, lineterminator='\n').writerows(
                [_COLUMNS, *map(many_hosts.Timed.cells, found)])
    return int(any(timed.seconds > LIMIT_S for timed in found))


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
