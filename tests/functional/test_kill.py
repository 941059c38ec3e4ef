# SPDX-License-Identifier: Apache-2.0

"""nova-compute is killed at each step of what it does; see kill_matrix."""

from tests.functional import kill_live
from tests.functional import kill_matrix
from tests.functional import kill_moves
from tests.functional import live
from tests.functional import operations
from tests import proof


class ContainerTest(kill_moves.MoveKillTests, operations.TestCase):
    """On a kernel that grants a runtime on every CPU."""


class MachineTest(kill_live.LiveKillTests, operations.TestCase):
    """Virtual machines, on a kernel with a runtime for each CPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'
    VCPUS = 2

    @proof.proves('Live migration, nova-compute of an end is killed', 'at '
                  'each step: a guest keeps what was claimed for it where it '
                  'runs, an operator starts it where Nova has it')
    def test_live_migration(self) -> None:
        self.ends_at = 'host2'
        self.matrix(kill_matrix.Operation(
            'live', lambda: self.boot_here(self.large), self.migrate_live))

    @proof.proves('Live migration that fails, nova-compute of an end is '
                  'killed', 'at each step: as before; nothing left at the '
                  'destination')
    def test_failed_live_migration(self) -> None:
        self.ends_at, self.libvirt.ends = 'host1', live.FAILED
        self.matrix(kill_matrix.Operation(
            'failed', lambda: self.boot_here(self.large), self.migrate_live))
