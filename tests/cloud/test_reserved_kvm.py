# SPDX-License-Identifier: Apache-2.0

"""KVM guests by SCHED_DEADLINE on their pCPUs: the same tests as with QEMU.

On a machine without a usable /dev/kvm, the lab has one: ``tools/lab.sh
debian:13 --kvm --cpus 2 --memory 4096 --icount --timeout 7200 life-kvm``.
"""

import os
import unittest

from tests.cloud import test_reserved_deadline
from tests import seeds

#: The tests of a day, unless all are asked for.
A_DAY = 2


class KvmTestCase(test_reserved_deadline.DeadlineTestCase):

    GUEST = 'kvm'
    # The clock of the lab is not deterministic with two CPUs.
    TOLERANCE = float(os.environ.get('NOVA_RT_LAB_TOLERANCE') or 0.005)


class KvmLifecycleTestCase(test_reserved_deadline.LifecycleTestCase):

    GUEST = 'kvm'


def load_tests(loader: unittest.TestLoader, standard: unittest.TestSuite,
               pattern: str | None) -> unittest.TestSuite:
    """Runs a few tests of the life cycle a day; all with NOVA_RT_STOCK."""
    life = seeds.tests_of_the_day(
        __name__, [loader.loadTestsFromTestCase(KvmLifecycleTestCase)],
        A_DAY, 'NOVA_RT_STOCK')
    return unittest.TestSuite(
        [*loader.loadTestsFromTestCase(KvmTestCase), *life])
