# SPDX-License-Identifier: Apache-2.0

"""Tests that an interface is one module and one entry point.

An invented interface is installed.  A server, the doctor and nova-rt-manage
meet it on a host whose kernel has it.
"""

from typing import Any

import fixtures

from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import detect
from rt_operate.doctor import examine
from rt_operate.doctor import options
from rt_operate.doctor import view
from tests.emulation.eighth import installed
from tests.emulation.eighth import interface
from tests.emulation.eighth import kernel
from tests.emulation import kernels
from tests.functional import test_manage


class Machine(host_files.Host):
    """This machine with the groups of an emulated kernel."""

    def __init__(self, kernel: Any) -> None:
        super().__init__()
        self._kernel = kernel

    def data(self, path: str) -> bytes:
        if path.startswith(('/sys/fs/cgroup', '/proc/sys/kernel/sched_')):
            return str(self._kernel.read(path)).encode()
        return super().data(path)

    def children(self, path: str) -> list[str]:
        return list(self._kernel.children(path))

    def mounts(self) -> list[tuple[str, str, str]]:
        return list(self._kernel.mounts())


class EighthTest(test_manage.ManageTestCase):

    KERNEL = 'F8'

    def setUp(self) -> None:
        self.useFixture(installed.Installed())
        self.useFixture(fixtures.MonkeyPatch(
            'tests.emulation.kernels.KERNELS',
            kernels.KERNELS | {'F8': kernel.KERNEL}))
        super().setUp()

    def reserved_here(self) -> dict[str, Any]:
        body = self.request(self.rt_flavor(100_000, 200_000))
        body['server']['host'] = self.this_host
        return dict(self._wait_for_state_change(
            self.api.post_server(body), 'ACTIVE'))

    def look(self) -> dict[str, str]:
        """Returns the doctor's findings on the kernel and groups, by id."""
        found = examine.examine(view.View(
            Machine(self.kernel()), options.Options()))
        return {each.id: f'{each.level.name} {each.text} {each.remedy}'
                for each in found
                if each.id.startswith(('kernel.', 'capacity.', 'orphans.'))}

    def test_it_is_known(self) -> None:
        self.assertIs(interface.Guarantee, detect.installed()['guarantee'])

    def test_a_server(self) -> None:
        server = self.reserved_here()
        self.assertEqual((100_000, 200_000), self.budget(server))
        self.assert_clean()
        self._delete_server(server)
        self.settle()
        self.assert_clean()

    def test_the_doctor(self) -> None:
        self.reserved_here()
        found = self.look()
        self.assertIn('OK F8 guarantee: cpu.guarantee',
                      found['kernel.interface'])
        for name, text in found.items():
            self.assertNotIn('could not be completed', text, name)
            self.assertNotIn('cpu.rt', text, name)

    def test_check_finds_what_is_lost(self) -> None:
        server = self.reserved_here()
        group = self.group(server)
        self.kernel().write(
            f'/sys/fs/cgroup{group}/{interface.FILE}', '50000 200000')
        self.assertEqual(['budget'], self.kinds('--kernel'))
