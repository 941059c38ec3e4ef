# SPDX-License-Identifier: Apache-2.0

"""Two foreign servers a day of the suite ``python -m tests.full.signals``.

The suite itself, which ``tools/test.sh signals`` runs, has all servers and
compares the times, too.  NOVA_RT_FOREIGN=1 runs all servers here.
"""

from collections.abc import Callable
import pathlib
import subprocess
import tempfile
import unittest

from benchmarks import stand_ins
from tests.full.signals import catalogue
from tests.full.signals import stage as signals_stage
from tests.functional.kernel import base
from tests import seeds

_REQUESTS, _A_DAY = 100, 2
#: Servers that need seconds, and packages of a few MB.
_CHEAP = ('redis', 'memcached', 'python', 'node', 'io_uring', 'dnsmasq',
          'sipp')


class ForeignTest(unittest.TestCase):
    """A test for each server; the loop below adds them."""

    def setUp(self) -> None:
        reason = base.why_not()
        if not reason and not stand_ins.VERSION_1.is_dir():
            reason = 'needs the cpu controller of cgroup v1'
        if reason:
            self.skipTest(reason)

    def check(self, name: str) -> None:
        """Each line is right, or unclear where the documentation says so."""
        server, documented = catalogue.SERVERS[name], catalogue.documented()
        if server.missing:
            self.skipTest(f'this machine has no {server.missing}')
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        try:
            stage = self.enterContext(signals_stage.stage(
                pathlib.Path(folder.name), list(server.packages)))
        except subprocess.CalledProcessError as error:
            self.skipTest(f'apt has not {", ".join(server.packages)}: '
                          f'{error.stderr}')
        for row in server.rows(stage, _REQUESTS):
            with self.subTest(f'{row.name}, {row.traffic}'):
                wanted = documented[row.name, row.traffic] == 'unclear'
                self.assertEqual(wanted, row.is_unclear, row)
                self.assertTrue(row.has_right_counts, row.differences())


def _test(name: str) -> Callable[[ForeignTest], None]:
    return lambda test: test.check(name)


for _name in catalogue.SERVERS:
    setattr(ForeignTest, f'test_{_name}', _test(_name))


def load_tests(loader: unittest.TestLoader, standard: unittest.TestSuite,
               pattern: str | None) -> unittest.TestSuite:
    """Chooses a few cheap servers each day."""
    cheap = {f'test_{name}' for name in _CHEAP}
    return seeds.tests_of_the_day(__name__, [
        unittest.TestSuite(test for case in standard for test in case
                           if test._testMethodName in cheap)],
        _A_DAY, 'NOVA_RT_FOREIGN')
