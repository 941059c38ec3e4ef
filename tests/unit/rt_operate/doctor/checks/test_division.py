# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.division: the divisor of an example."""

from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

ID = 'capacity.division'


class DivisionTest(base.DoctorTest):

    def test_off_by_default(self):
        self.assert_ok(self.examine(kernels.F1), ID,
                       'nova-compute does not divide reservations',
                       'With 100, the kernel would get', '(k = ')

    def test_says_which_divisor_and_why(self):
        found = self.examine(kernels.F1, min_divided_runtime_us=100)
        self.assert_ok(
            found, ID, 'min_divided_runtime_us is 100: the kernel would get ',
            ' for a second server of 30000 us every 100000 us',
            'without division,')
        self.assertNotIn('(k = 1)', found[ID].text)

    def test_a_long_shortest_runtime(self):
        """Nothing shorter may be written, so nothing is divided."""
        found = self.examine(kernels.F1, min_divided_runtime_us=20_000)
        self.assert_ok(found, ID, '(k = 1)')
        self.assertNotIn('because', found[ID].text)

    def test_edf_divides_nothing(self):
        for files in kernels.F2, kernels.F5:
            self.assertNotIn(ID, self.examine(files))
