# SPDX-License-Identifier: Apache-2.0

"""nova_rt.machine.host.ticks: how finely run time is charged."""

import errno
import unittest
from unittest import mock

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import ticks
from tests.unit.machine.kernel import base

NEW, OLD = ticks.FEATURES


class Files:
    """Some of debugfs; what is missing is refused as it often is."""

    def __init__(self, **texts: str) -> None:
        self._texts = {path: texts[name] for path, name
                       in ((NEW, 'new'), (OLD, 'old')) if name in texts}

    def read(self, path: str) -> str:
        if path not in self._texts:
            raise base.refuse(errno.EPERM)
        return self._texts[path]


def high(**texts: str) -> bool | None:
    files: cgroup.CgroupFS = Files(**texts)  # type: ignore[assignment]
    return ticks.high_resolution(files)


class TicksTest(unittest.TestCase):
    """HZ as the clock shows it, HRTICK as debugfs does."""

    def test_tick(self) -> None:
        self.assertIn(ticks.tick_us(), (1_000, 3_333, 4_000, 10_000))
        with mock.patch.object(ticks.time, 'clock_getres',
                               return_value=0.004):
            self.assertEqual(4_000, ticks.tick_us())

    def test_a_clock_that_tells_nothing(self) -> None:
        with mock.patch.object(ticks.time, 'clock_getres', return_value=0.0):
            self.assertEqual(10_000, ticks.tick_us())

    def test_a_locked_down_kernel(self) -> None:
        self.assertIsNone(high())

    def test_a_feature_of_its_own(self) -> None:
        self.assertTrue(high(new='NO_HRTICK HRTICK_DL WA_IDLE'))
        self.assertFalse(high(new='HRTICK NO_HRTICK_DL WA_IDLE'))

    def test_one_feature_for_all_classes(self) -> None:
        self.assertTrue(high(old='WA_IDLE HRTICK'))
        self.assertFalse(high(old='WA_IDLE NO_HRTICK'))

    def test_the_newer_file_counts(self) -> None:
        self.assertTrue(high(new='HRTICK_DL', old='NO_HRTICK'))


class CapacityTest(base.EveryKernelTest):
    """Tests what capacity() makes of it."""

    def test_tick(self) -> None:
        tick = ticks.tick_us()
        for features, wanted in (('HRTICK HRTICK_DL', 0),
                                 ('NO_HRTICK NO_HRTICK_DL', tick)):
            read = self.kernel.read

            def with_debugfs(path: str, text: str = features) -> str:
                return text if path == NEW else read(path)

            with mock.patch.object(self.kernel, 'read', with_debugfs):
                found = self.interface.capacity('/machine').tick_us
            # Mainline charges at ticks, whatever its features.
            self.assertEqual(tick if self.kind == 'F1' else wanted, found)
            self.kernel.read = read  # type: ignore[method-assign]
