# SPDX-License-Identifier: Apache-2.0

"""Virtual machines on a stock kernel: SCHED_DEADLINE, found by probing."""

import fixtures

from nova_rt.compute import claims
from nova_rt import hostmap
from tests.emulation import groups
from tests.emulation import kernels
from tests.emulation import stock
from tests.emulation import tasks as emulated
from tests.functional import invariants
from tests.functional import operations
from tests.functional import test_lifecycle
from tests.functional import test_live_migration


class Stock(invariants.TestCase):
    """A mixin: hosts whose kernel has no budget for groups."""

    KERNEL = 'stock'
    VIRT_TYPE = 'qemu'
    #: what the kernel leaves beside its fair server
    CAP = 900_001

    def setUp(self) -> None:
        self.useFixture(fixtures.MonkeyPatch(
            'tests.emulation.kernels.KERNELS', kernels.KERNELS | {
                'stock': kernels.Emulated(stock.Kernel, 'sched_deadline')}))
        for name, new in emulated.DEADLINE.items():
            self.useFixture(fixtures.MonkeyPatch(name, new))
        super().setUp()

    def _policy(self, host: str, claim: claims.RTClaim | None
                ) -> tuple[int, int]:
        if claim is None:
            return super()._policy(host, claim)
        return groups.DEADLINE, 0


class DeadlineTest(Stock, operations.TestCase):

    HOSTS = ('host1',)

    def test_chosen_by_probing(self) -> None:
        self.assertLessEqual(hostmap.TRAITS, set(self.traits()))


class LifecycleTest(Stock, test_lifecycle.MachineTest):
    """All of it."""

    @staticmethod
    def refuse(path: str, text: str) -> None:
        if path.startswith('sched_setattr'):
            raise OSError(22, 'refused', path)
