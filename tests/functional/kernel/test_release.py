# SPDX-License-Identifier: Apache-2.0

"""``nova-rt release`` on the kernel of this machine."""

from unittest import mock

from nova_rt.cmd import main
from nova_rt.host import cgroup
from nova_rt.kernel import detect
from nova_rt.kernel import rt_group_sched
from nova_rt.kernel import two_files
from tests.functional.kernel import base


class ReleaseTest(base.RealKernelTest):
    """A scratch group stands for the top group of the guests."""

    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(cgroup, 'PARTITIONS', (f'/{self.name}',) * 2)
        patch.start()
        self.addCleanup(patch.stop)
        found = detect.detect(self.fs)
        assert isinstance(found, rt_group_sched.RtGroupSched)
        self.interface = found
        self.guest = self.top / 'guest'
        self.guest.mkdir()
        self.take_room()

    def held(self) -> int:
        return int((self.top / two_files.RUNTIME).read_text())

    def test_room(self) -> None:
        """What libvirt leaves where nova-compute does not see a guest end."""
        self.guest.rmdir()
        self.assertEqual(base.TOP_US, self.held())
        self.assertEqual(0, main.main(['release']))
        self.assertEqual(0, self.held())

    def test_groups(self) -> None:
        """Those with a task keep what they have."""
        (self.guest / two_files.RUNTIME).write_text('100')
        child = self.start()
        (self.guest / 'cgroup.procs').write_text(str(child.pid))
        self.assertEqual(0, main.main(['release']))
        self.assertEqual('100', (
            self.guest / two_files.RUNTIME).read_text().strip())
        self.end(child)
        base.eventually(self.release)
        self.assertEqual(0, self.held())

    def release(self) -> None:
        """A task that ended may take a moment to leave its group."""
        self.assertEqual(0, main.main(['release']))
        if (self.guest / two_files.RUNTIME).read_text().strip() != '0':
            raise OSError
