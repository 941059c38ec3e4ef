# SPDX-License-Identifier: Apache-2.0

"""Hosts whose cores have two threads each."""

import fixtures

from nova_rt.rules import reservation
from tests.functional import operations
from tests.functional import test_deadline


class CoreTest(test_deadline.Stock, operations.TestCase):
    """The reservations on both threads of a core have one sum."""

    HOSTS = ('host1',)

    def _configure(self) -> None:
        super()._configure()
        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.machine.host.siblings.cores',
            lambda cpus: tuple(cpu // 2 for cpu in cpus)))
        self.flags(group='nova_rt', smt='core')

    def test_a_core_is_sold_once(self) -> None:
        wide = self.reserved(share=500, vcpus=2)
        self.assertEqual({0, 1}, {cpu // 2 for cpu
                                  in self.claimed(wide).cpus})
        core = {reservation.SMT_KEY: 'core'}
        self.boot_on('host1', self.rt_flavor(50_000, 100_000, 1, **core),
                     'ERROR')
        self.boot_on('host1', self.rt_flavor(40_000, 100_000, 1, **core))
        self.assert_invariants()
        self.assertEqual('1.800', self.stats('host1')['rt_share'])

    def test_a_host_that_ignores_siblings_is_not_for_such_flavors(self
                                                                  ) -> None:
        self.flags(group='nova_rt', smt='ignore')
        self.audit('host1')
        self.boot_on('host1', self.rt_flavor(
            40_000, 100_000, 1, **{reservation.SMT_KEY: 'core'}), 'ERROR')
        self.reserved(share=400)
