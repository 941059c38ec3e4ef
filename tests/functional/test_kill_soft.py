# SPDX-License-Identifier: Apache-2.0

"""nova-compute is killed while servers with soft reservations make room.

A server with a soft reservation has all that nobody has reserved on host1.
Each operation of another server makes its runtimes shorter or longer, so some
of the steps at which nova-compute is killed are among these changes.
Only NOVA_RT_KILL runs the tests, as ``tools/test.sh full`` does.
"""

import contextlib
import dataclasses
import unittest

from nova_rt.rules import exception
from rt_operate.manage import hints
from rt_operate.manage import reserve
from tests.functional import base
from tests.functional import kill_matrix
from tests.functional import operations
from tests.functional import test_soft
from tests import proof
from tests import seeds


class KillTest(test_soft.Stock, kill_matrix.KillTests, operations.TestCase):
    """nova-compute is killed at steps of operations beside a soft server."""

    VCPUS = 2

    def matrix(self, operation: kill_matrix.Operation) -> None:
        """Runs an operation beside a server that has what is free."""
        def prepare() -> object:
            self.boot_here(self.soft(200))
            self.audit('host1')
            return operation.prepare()
        super().matrix(dataclasses.replace(operation, prepare=prepare))

    @proof.proves(
        'Create, change or delete a server beside a server with a soft '
        'reservation, nova-compute is killed, at each step',
        'After the restart and one audit, no pCPU is over-committed, and each '
        'server has at least its reservation.')
    def test_change(self) -> None:
        self.matrix(kill_matrix.Operation(
            'change', lambda: self.boot_here(self.small), _reserve))

    @proof.proves(
        'Change a soft reservation, nova-compute is killed, at each step',
        'After the restart and one audit, no pCPU is over-committed, and each '
        'server has at least its reservation.')
    def test_change_of_a_soft_reservation(self) -> None:
        self.matrix(kill_matrix.Operation(
            'change itself', lambda: self.boot_here(self.soft(100)),
            _reserve))


def _reserve(server: operations.Server) -> None:
    """Changes a server; nova-compute may be killed before it answers."""
    with contextlib.suppress(exception.CannotChangeReservation):
        reserve.change(hints.server(server['id']),
                       {base.HINT_RUNTIME: 60_000})


def load_tests(loader: unittest.TestLoader, standard: unittest.TestSuite,
               pattern: str | None) -> unittest.TestSuite:
    """Runs all of the tests with NOVA_RT_KILL, else none."""
    return seeds.tests_of_the_day(__name__, standard, 0, 'NOVA_RT_KILL')
