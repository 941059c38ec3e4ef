# SPDX-License-Identifier: Apache-2.0

"""Tests the reservation in the life of a real server.

There is one host; moves need several hosts, see tests/functional and
tests/hosts.
"""

import fcntl
import os
import pathlib
import signal

import openstack

from tests.cloud import base
from tests import proof

BUDGET = {'runtime_us': 100_000, 'period_us': 200_000}
SMALLER = {'runtime_us': 40_000, 'period_us': 200_000}
#: With another extra spec, Nova's own resize starts another guest.
OTHER_SIZE = {'test:size': 'other'}


def is_free(lock: pathlib.Path) -> bool:
    """Returns whether nobody holds the lock of a file of processes."""
    with lock.open('a') as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


class LifecycleTests(base.CloudTestCase):
    """The tests of a server's life, for all kinds of guests: a mixin."""

    def setUp(self) -> None:
        super().setUp()
        self.server = self.busy(self.flavor())
        self.first = self.on_host(self.server)

    def assert_policies(self, found: base.host.Server) -> None:
        """Checks that tasks inside have the policy of the interface."""
        raise NotImplementedError

    def keeper(self, found: base.host.Server) -> int:
        """Returns the process of the host without which the guest ends."""
        raise NotImplementedError

    @property
    def compute(self) -> openstack.compute.v2._proxy.Proxy:
        return self.cloud.compute

    def status(self) -> str:
        return str(self.compute.get_server(self.server).status)

    def reaches(self, status: str) -> None:
        self.eventually(f'status {status}', lambda: (
            self.status() == status and not self.compute.get_server(
                self.server).task_state))

    def assert_runs(self, budget: dict[str, int] | None = None,
                    again: bool = True) -> None:
        """Checks the budget of a server whose guest is another one *again*."""
        self.reaches('ACTIVE')
        found = self.on_host(self.server)
        self.assertEqual(budget or BUDGET, found.kernel)
        self.assertEqual(again, found.group != self.first.group)
        self.assert_policies(found)
        self.assert_in_step()
        self.first = found

    def runs_anew(self) -> None:
        """Checks that the server has another guest with its reservation."""
        self.eventually('a new guest', lambda: self.on_host(
            self.server).group not in ('', self.first.group))
        self.assert_runs()

    def assert_off(self) -> None:
        """Checks that the server has no guest, and still has its claim."""
        found = self.on_host(self.server)
        self.assertEqual(('', self.first.claim), (found.group, found.claim))
        self.assertEqual(0, base.host.budgets())
        self.assert_in_step()

    @proof.proves(
        'Stop and start of a real container or virtual machine',
        'The reservation is kept. There is no budget while the server is '
        'off.')
    def test_stop_and_start(self) -> None:
        self.compute.stop_server(self.server)
        self.reaches('SHUTOFF')
        self.assert_off()
        self.compute.start_server(self.server)
        self.assert_runs()

    @proof.proves(
        'Soft reboot of a real container or virtual machine',
        'The reservation is kept. The old guest loses the budget, and the '
        'new guest gets the same budget.')
    def test_soft_reboot(self) -> None:
        # No guest reacts to the request to end, so Nova ends the guest by
        # force.
        self.compute.reboot_server(self.server, 'SOFT')
        self.runs_anew()

    @proof.proves(
        'Hard reboot of a real container or virtual machine',
        'The server keeps its pCPUs. The old guest loses the budget, and the '
        'new guest gets the same budget.')
    def test_hard_reboot(self) -> None:
        before = self.claim(self.server)
        self.compute.reboot_server(self.server, 'HARD')
        self.runs_anew()
        self.assertEqual(before, self.claim(self.server))

    @proof.proves(
        'Snapshot of a real container or virtual machine',
        'The guest runs on with its budget.')
    def test_snapshot(self) -> None:
        image = self.compute.create_server_image(
            self.server, self.getUniqueString())
        self.addCleanup(self.cloud.image.delete_image, image)
        self.eventually('stored', lambda: self.cloud.image.get_image(
            image).status == 'active')
        self.assert_runs(again=False)

    @proof.proves(
        'Shelve, offload and unshelve of a real container or virtual machine',
        'The reservation is released, and claimed again at unshelve.')
    def test_shelve(self) -> None:
        self.compute.shelve_server(self.server)
        self.reaches('SHELVED_OFFLOADED')
        self.assert_nothing_left()
        self.assert_in_step()
        self.compute.unshelve_server(self.server)
        self.assert_runs()

    @proof.proves(
        'Pause and unpause of a real container or virtual machine',
        'The reservation and the budget are kept.')
    def test_pause(self) -> None:
        self.compute.pause_server(self.server)
        self.reaches('PAUSED')
        self.assertEqual(BUDGET, self.on_host(self.server).kernel)
        self.assert_in_step()
        self.compute.unpause_server(self.server)
        self.assert_runs(again=False)

    @proof.proves(
        'Rebuild of a real container or virtual machine',
        'The server keeps its pCPUs. The old guest loses the budget, and the '
        'new guest gets the same budget.')
    def test_rebuild(self) -> None:
        before = self.claim(self.server)
        image = self.cloud.image.find_image(
            base.guests.KINDS[self.GUEST].image)
        self.compute.rebuild_server(self.server, image=image.id)
        self.runs_anew()
        self.assertEqual(before, self.claim(self.server))

    @proof.proves(
        'Crash of a real container or virtual machine',
        'The reservation is kept. There is no budget until the server is '
        'started again.')
    def test_crash(self) -> None:
        os.kill(self.keeper(self.first), signal.SIGKILL)
        self.reaches('SHUTOFF')
        self.eventually('no budget', lambda: not base.host.budgets())
        self.assert_off()
        self.compute.start_server(self.server)
        self.assert_runs()

    @proof.proves(
        'Restart of a real nova-compute',
        'The guest runs on, and its budget does not change.')
    def test_restart_of_nova(self) -> None:
        base.cloud('restart')
        self.assert_runs(again=False)

    @proof.proves(
        'Kill and restart of a real libvirtd',
        'The guest runs on, and its budget does not change.')
    def test_kill_of_libvirtd(self) -> None:
        old = base.processes.Process(self.settings.run / 'libvirtd.pid')
        proc = pathlib.Path('/proc', str(old.pid))
        command = (proc / 'cmdline').read_bytes().decode().split('\0')[:-1]
        environment = dict(
            line.split('=', 1) for line in
            (proc / 'environ').read_bytes().decode().split('\0') if line)
        os.kill(old.pid, signal.SIGKILL)
        # Until the last thread of libvirtd has ended, another libvirtd cannot
        # start.
        self.eventually('its lock is free', lambda: is_free(
            self.settings.run / 'libvirtd.own-pid'))
        # Nova sees the file systems in the mount namespace of the old
        # libvirtd.
        old.start(['nsenter', '--target', self.nova_pid, '--mount',
                   *command], environment, self.settings.log_file('libvirtd'))
        self.eventually('Nova has found it', self.answers)
        self.assert_runs(again=False)
        self.hard_reboot(self.server)
        self.assert_runs()

    @property
    def nova_pid(self) -> str:
        return (self.settings.run / 'nova.pid').read_text().split()[0]

    def answers(self) -> bool:
        """Checks that nova-compute is enabled, so it has its libvirtd."""
        return [service.status for service in self.compute.services()
                if service.binary == 'nova-compute'] == ['enabled']

    @proof.proves(
        'Kill and restart of a real nova-compute',
        'The guest runs on, and its budget does not change.')
    def test_kill_of_nova(self) -> None:
        os.kill(int(self.nova_pid), signal.SIGKILL)
        base.cloud('up', '--guest', self.GUEST)
        self.assert_runs(again=False)

    def resized(self, **more: str) -> None:
        """Resizes the server to 40 ms of 200, and to other extra specs."""
        self.compute.resize_server(self.server, self.flavor(40_000, **more))
        self.reaches('VERIFY_RESIZE')

    @proof.proves(
        'Resize of a real container or virtual machine on its host, '
        'confirmed',
        'The server has the new reservation, on pCPUs with room for both '
        'reservations.')
    def test_resize_confirmed(self) -> None:
        self.resized(**OTHER_SIZE)
        self.compute.confirm_server_resize(self.server)
        self.assert_runs(SMALLER)

    @proof.proves(
        'Resize of a real container or virtual machine on its host, reverted',
        'The server has the old reservation on the old pCPUs.')
    def test_resize_reverted(self) -> None:
        before = self.claim(self.server)
        self.resized(**OTHER_SIZE)
        self.compute.revert_server_resize(self.server)
        self.assert_runs()
        self.assertEqual(before, self.claim(self.server))

    @proof.proves(
        'Resize of the reservation alone of a real container or virtual '
        'machine, confirmed or reverted',
        'The guest runs on, with the new or the old reservation.')
    def test_resize_of_the_reservation(self) -> None:
        before = self.claim(self.server)
        self.resized()
        self.assert_runs_on(SMALLER)
        self.compute.revert_server_resize(self.server)
        self.assert_runs(again=False)
        self.assertEqual(before, self.claim(self.server))
        self.resized()
        self.compute.confirm_server_resize(self.server)
        self.assert_runs(SMALLER, again=False)

    def assert_runs_on(self, budget: dict[str, int]) -> None:
        """Checks that the guest is still the same, with this budget."""
        found = self.on_host(self.server)
        self.assertEqual((self.first.group, budget),
                         (found.group, found.kernel))
        self.assert_policies(found)
