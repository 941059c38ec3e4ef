# SPDX-License-Identifier: Apache-2.0

"""Servers with NUMA cells; nova-compute is killed or audited at each step.

The matrices are those of ``test_kill`` and ``test_audits``.  In addition, the
pCPUs of each claim must be in the cells of the memory.  NOVA_RT_KILL and
NOVA_RT_AUDIT run all tests; without them there is one test a day.
"""

import dataclasses
import os
from typing import Any
import unittest

from tests.functional import kill_matrix
from tests.functional import test_audits
from tests.functional import test_kill
from tests.functional import test_numa
from tests import seeds

_RUNS = ('ACTIVE', 'VERIFY_RESIZE')
_WHOLE = {'NOVA_RT_KILL', 'NOVA_RT_KILL_POINT', 'NOVA_RT_AUDIT'}


class CellsTestCase(test_numa.TestCase):
    """Two hosts of two cells."""

    HOSTS = ('host1', 'host2')
    #: The cells of a server that names none.
    SERVER_CELLS = 1

    def flavor(self, share: int, vcpus: int | None = None) -> str:
        return self.bound(share, vcpus or self.VCPUS, self.SERVER_CELLS)

    def assert_all_in_cells(self) -> None:
        """Each server that runs has its pCPUs where its memory is."""
        for server in self.api.get_servers():
            host = server['OS-EXT-SRV-ATTR:host']
            if server['status'] in _RUNS and host in self.computes and (
                    not server['OS-EXT-STS:task_state']
                    and server['id'] in self._running(host)
                    and self.topology(server) is not None):
                self.assert_in_cells(server, host)

    def _running(self, host: str) -> set[str]:
        return {domain.UUIDString() for domain in self.alive(host)}


class KillTest(CellsTestCase, test_kill.MachineTest):
    """nova-compute is killed at steps of each operation."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'stock'
    VCPUS = 2

    def matrix(self, operation: kill_matrix.Operation) -> None:
        """Runs an operation on a server whose vCPUs Nova alone would place."""
        host = 'host1' if operation.name == 'create' else 'host2'

        def prepare() -> Any:
            self.boot_on(host, self.rt_flavor(60_000, 100_000))
            self.killer.wait()
            return operation.prepare()

        def after() -> None:
            self.assert_all_in_cells()
            operation.after()

        super().matrix(dataclasses.replace(
            operation, prepare=prepare, after=after))

    def check(self) -> None:
        super().check()
        self.assert_all_in_cells()


class TwoCellsKillTest(KillTest):
    """Tests where each vCPU is in a cell of its own."""

    SERVER_CELLS = 2


class AuditTest(CellsTestCase, test_audits.MachineTest):
    """An audit at steps of each operation."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'stock'
    VCPUS = 2

    def assert_invariants(self, *hosts: str) -> None:
        super().assert_invariants(*hosts)
        self.assert_all_in_cells()


def load_tests(loader: unittest.TestLoader, standard: unittest.TestSuite,
               pattern: str | None) -> unittest.TestSuite:
    """Runs all tests if NOVA_RT_KILL or NOVA_RT_AUDIT says so, else one."""
    tests = [test for case in (KillTest, TwoCellsKillTest, AuditTest)
             for test in loader.loadTestsFromTestCase(case)]
    if not _WHOLE & os.environ.keys():
        tests = seeds.sample(__name__).sample(tests, 1)
    return unittest.TestSuite(tests)
