# SPDX-License-Identifier: Apache-2.0

"""nova_rt.kernel.detect: which interface the kernel has."""

import os
import unittest
from unittest import mock

from nova_rt.kernel import detect
from nova_rt.kernel import rt_group_sched
from tests.emulation import rt_group_sched as emulation


class Unmounted(emulation.Kernel):
    """A host with cgroup v2 only."""

    def mounts(self) -> list[tuple[str, str, str]]:
        return [('/sys/fs/cgroup', 'cgroup2', 'rw')]


class WithoutFiles(emulation.Kernel):
    """RT_GROUP_SCHED is off, or was not asked for at boot."""

    def read(self, path: str) -> str:
        if path.startswith(emulation.CPU_MOUNT):
            raise FileNotFoundError(path)
        return super().read(path)


class Together(emulation.Kernel):
    """As distributions mount it."""

    def mounts(self) -> list[tuple[str, str, str]]:
        return [(emulation.CPU_MOUNT, 'cgroup', 'rw,cpu,cpuacct')]


class DetectTest(unittest.TestCase):
    """Never guesses."""

    def test_finds_it(self) -> None:
        found = detect.detect(emulation.Kernel())
        self.assertIsInstance(found, rt_group_sched.RtGroupSched)

    def test_finds_it_where_two_controllers_are_mounted_together(
            self) -> None:
        self.assertIsNotNone(detect.detect(Together()))

    def test_by_name(self) -> None:
        found = detect.detect(emulation.Kernel(), 'rt_group_sched')
        self.assertIsInstance(found, rt_group_sched.RtGroupSched)

    def test_unknown_name(self) -> None:
        with self.assertRaisesRegex(LookupError, 'known are .*rt_group'):
            detect.detect(emulation.Kernel(), 'nothing')

    def test_cgroup_v2_only(self) -> None:
        self.assertIsNone(detect.detect(Unmounted()))

    def test_the_kernel_has_no_files(self) -> None:
        self.assertIsNone(detect.detect(WithoutFiles()))

    def test_a_patched_kernel_with_the_same_names(self) -> None:
        uname = os.uname()
        fake = os.uname_result((*uname[:2], '5.8.0-hcbs', *uname[3:]))
        with mock.patch.object(rt_group_sched.os, 'uname',
                               return_value=fake):
            self.assertIsNone(rt_group_sched.RtGroupSched.detect(
                emulation.Kernel()))
