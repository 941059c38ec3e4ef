# SPDX-License-Identifier: Apache-2.0

"""Tests on which pCPUs emulators run."""

from nova_rt.rules import exception
from nova_rt.services.compute import emulators
from tests.unit import base

#: The pCPUs 0-7 are online; 0 is the host's own.
HOST = emulators.HostCPUs(online=range(8), shared=range(1, 6),
                          dedicated=(6, 7), reserved=(2, 3, 4))


class CPUsTest(base.TestCase):

    def refused(self, spec, *words):
        error = self.assertRaises(exception.InvalidConfiguration,
                                  emulators.cpus, spec, HOST)
        for word in ('emulator_cpus', spec, *words):
            self.assertIn(word, str(error))

    def test_the_spare_ones_by_default(self):
        for unset in (None, ''):
            self.assertEqual({1, 5}, emulators.cpus(unset, HOST))

    def test_the_chosen_ones(self):
        self.assertEqual({0, 5}, emulators.cpus('0,5', HOST))
        self.assertEqual({5}, emulators.cpus('4-5,^4', HOST))

    def test_nonsense(self):
        for spec in ('x', '1-', '5-1'):
            self.refused(spec, 'not a list of CPUs')
        self.refused('1,^1', 'names no CPU')

    def test_offline(self):
        self.refused('0,9', 'CPU 9, not online')

    def test_reserved(self):
        self.refused('1-3', 'reservations may use CPUs 2-3; leave', 'rt_cpus')

    def test_dedicated(self):
        self.refused('0,7', 'Nova dedicates CPU 7 to', 'cpu_dedicated_set')

    def test_what_is_not_dedicated(self):
        self.assertEqual({*range(6)}, HOST.not_dedicated)
