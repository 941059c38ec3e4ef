# SPDX-License-Identifier: Apache-2.0

"""Tests the published ranges and their edges."""

import ddt
import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import workload
from rt_models.pinning import core_ratio
from tests.unit import base as unit

CPU, IO, ULTRA_IO = workload.AppClass


@ddt.ddt
class CoreRatioTest(base.BaseTestCase):

    @ddt.data((CPU, 8), (CPU, 16), (IO, 16), (IO, 32), (ULTRA_IO, 32),
              (ULTRA_IO, 64))
    @ddt.unpack
    def test_the_sizes_of_the_paper(self, app_class, vcpus):
        """8, 16, 32, 64 of 112 cores: the edges of the three ranges."""
        found = core_ratio.RANGES[app_class]
        self.assertIn(core_ratio.percent(vcpus, 112),
                      range(found.low, found.high + 1))
        self.assertGreaterEqual(found.relief(vcpus, 112), 0.9)

    @ddt.data((CPU, 69, 1000, False), (CPU, 70, 1000, True),
              (CPU, 149, 1000, True), (CPU, 150, 1000, False),
              (IO, 139, 1000, False), (IO, 140, 1000, True),
              (IO, 289, 1000, True), (IO, 290, 1000, False),
              (ULTRA_IO, 279, 1000, False), (ULTRA_IO, 280, 1000, True),
              (ULTRA_IO, 579, 1000, True), (ULTRA_IO, 580, 1000, False))
    @ddt.unpack
    def test_edges(self, app_class, vcpus, cores, within):
        found = core_ratio.RANGES[app_class]
        self.assertIs(within, found.low <= core_ratio.percent(vcpus, cores)
                      <= found.high)

    def test_text(self):
        self.assertEqual('0.07 to 0.14', str(core_ratio.RANGES[CPU]))

    def test_whole_hosts_and_more(self):
        self.assertEqual(100, core_ratio.percent(4, 4))
        self.assertEqual(1.0, core_ratio.RANGES[CPU].relief(4, 4))
        self.assertEqual(1.0, core_ratio.RANGES[CPU].relief(8, 4))

    @unit.PROPERTY
    @hypothesis.given(st.sampled_from(workload.AppClass),
                      st.integers(1, 1024), st.integers(1, 1024))
    def test_relief(self, app_class, vcpus, cores):
        """A greater CHR never loses more, up to that of the whole host."""
        found = core_ratio.RANGES[app_class]
        relief = found.relief(vcpus, cores)
        self.assertTrue(0 < relief <= 1)
        if vcpus < cores:
            self.assertLess(relief, found.relief(vcpus + 1, cores))
