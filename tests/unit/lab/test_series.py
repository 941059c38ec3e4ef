# SPDX-License-Identifier: Apache-2.0

"""lab.series: the boots that the table of kernels is made of."""

import unittest

from lab import jobs
from lab import kernels
from lab import series


class BootsTest(unittest.TestCase):

    def test_each_kernel_with_each_kind_of_guests(self):
        for kernel in kernels.DEBIAN:
            tried = {jobs.GUESTS[name] for boot in series.boots()
                     if boot.kernel == kernel
                     for name, _ in boot.scripts if name in jobs.GUESTS}
            self.assertEqual({'processes', 'TCG', 'KVM'}, tried)

    def test_each_row_and_each_output_has_its_own_place(self):
        boots = series.boots()
        self.assertEqual(len(boots), len({
            (boot.kernel, boot.machine.cpus) for boot in boots}))
        self.assertEqual(len(boots), len({
            boot.directory for boot in boots}))

    def test_machines_can_have_guests_of_kvm(self):
        self.assertTrue(all(boot.machine.kvm for boot in series.boots()))
