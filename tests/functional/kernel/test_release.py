# SPDX-License-Identifier: Apache-2.0

"""``nova-rt release`` on the kernel of this machine."""

from unittest import mock

from nova_rt.machine.host import cgroup
from rt_operate.commands import main
from tests.functional.kernel import base


class ReleaseTest(base.RealKernelTest):
    """A scratch group stands for the top group of the guests."""

    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(cgroup, 'GUEST_GROUPS',
                                  (f'/{self.name}',) * 2)
        patch.start()
        self.addCleanup(patch.stop)
        self.guest = self.make(self.top / 'guest')
        self.take_room()

    def held(self) -> int:
        return base.budget(self.top)[0]

    def test_room(self) -> None:
        """libvirt leaves room if nova-compute misses the end of a guest."""
        self.guest.rmdir()
        self.assertEqual(base.TOP_US, self.held())
        self.assertEqual(0, main.main(['release']))
        self.assertEqual(0, self.held())

    def test_groups(self) -> None:
        """Groups with a task keep their budgets."""
        base.give(self.guest, 10_000)
        child = self.start()
        (self.guest / 'cgroup.procs').write_text(str(child.pid))
        self.assertEqual(0, main.main(['release']))
        self.assertEqual(10_000, base.budget(self.guest)[0])
        self.end(child)
        base.eventually(self.release)
        self.assertEqual(0, self.held())

    def release(self) -> None:
        """A task that has ended may take a moment to leave its group."""
        self.assertEqual(0, main.main(['release']))
        if base.budget(self.guest)[0]:
            raise OSError
