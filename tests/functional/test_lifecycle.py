# SPDX-License-Identifier: Apache-2.0

"""Operations on servers that stay where they are."""

import os
from typing import Any

import fixtures
import nova.conf
from nova.virt import event as virtevent

from tests.functional import operations
from tests import proof
from tests import seeds


class LifecycleTests:
    """The tests of a life, for containers and virtual machines."""

    HOSTS = ('host1',)

    @proof.proves(
        'Soft reboot',
        'The server keeps its pCPUs. The old guest loses the budget, and the '
        'new guest gets the same budget.')
    def test_soft_reboot(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        self.act(server, 'reboot', {'type': 'SOFT'}, 'ACTIVE')
        self.assertEqual(before, self.claimed(server))
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Hard reboot',
        'The server keeps its pCPUs. The old guest loses the budget, and the '
        'new guest gets the same budget.')
    def test_hard_reboot(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        self.act(server, 'reboot', {'type': 'HARD'}, 'ACTIVE')
        self.assertEqual(before, self.claimed(server))
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Stop, start',
        'The reservation is kept. There is no budget while the server is '
        'off.')
    def test_stop_and_start(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        self.act(server, 'os-stop', None, 'SHUTOFF')
        self.assert_off(server, 'host1', 600)
        self.act(server, 'os-start', None, 'ACTIVE')
        self.assertEqual(before, self.claimed(server))
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Pause, unpause',
        'The reservation and the budget are kept.')
    def test_pause(self) -> None:
        server = self.reserved()
        self.act(server, 'pause', None, 'PAUSED')
        self.assertTrue(self.kernel().granted())
        self.act(server, 'unpause', None, 'ACTIVE')
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Rescue, unrescue',
        'The reservation is kept, and the rescue system has the same '
        'reservation.')
    def test_rescue(self) -> None:
        server = self.reserved()
        os.makedirs(os.path.join(
            nova.conf.CONF.instances_path, server['id']), exist_ok=True)
        self.act(server, 'rescue', {}, 'RESCUE')
        self.assertTrue(self.kernel().granted())
        self.act(server, 'unrescue', None, 'ACTIVE')
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Rebuild',
        'The server keeps its pCPUs, without a new request.')
    def test_rebuild(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        self.act(server, 'rebuild', {'imageRef': operations.IMAGE}, 'ACTIVE')
        self.assertEqual(before, self.claimed(server))
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Shelve, shelve offload, unshelve',
        'The reservation is kept while the server is shelved, released at '
        'the offload, and claimed again at unshelve.')
    def test_shelve(self) -> None:
        self.flags(shelved_offload_time=-1)
        server = self.reserved()
        self.act(server, 'shelve', None, 'SHELVED')
        self.assert_off(server, 'host1', 600)
        self.act(server, 'shelveOffload', None, 'SHELVED_OFFLOADED')
        self.assert_nothing_left()
        self.act(server, 'unshelve', None, 'ACTIVE')
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Unshelve without room',
        'The server stays offloaded and holds no claim. The unshelve can be '
        'repeated.')
    def test_unshelve_without_room(self) -> None:
        self.flags(shelved_offload_time=0)
        server = self.reserved()
        self.act(server, 'shelve', None, 'SHELVED_OFFLOADED')
        others = [self.reserved() for _ in range(self.FILLS)]
        self.refused(server, 'unshelve')
        self._wait_for_state_change(server, 'SHELVED_OFFLOADED')
        self.assert_invariants()
        self._delete_server(others[0])
        self.act(server, 'unshelve', None, 'ACTIVE')
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Several servers at once (min_count)',
        'Each server has its own reservation, or no server is created.')
    def test_multi_create(self) -> None:
        self.post(self.flavor(300), count=3)
        servers = self.api.get_servers()
        for server in servers:
            self._wait_for_state_change(server, 'ACTIVE')
        self.assertEqual(3, len(self.alive('host1')))
        self.assert_invariants()
        self.post(self.flavor(300), count=20)
        self.assert_invariants()
        self.assertEqual(3, len(self.alive('host1')))

    @proof.proves(
        'Delete in states off, paused and shelved',
        'The reservation is released.')
    def test_delete(self) -> None:
        self.flags(shelved_offload_time=-1)
        for action, status in (('os-stop', 'SHUTOFF'), ('pause', 'PAUSED'),
                               ('shelve', 'SHELVED')):
            server = self.reserved()
            self.act(server, action, None, status)
            self._delete_server(server)
            self.assert_invariants()
            self.assert_nothing_left()

    @proof.proves(
        'Delete in state error',
        'The reservation is released.')
    def test_delete_in_error(self) -> None:
        server = self.reserved()
        self.api.post_server_action(
            server['id'], {'os-resetState': {'state': 'error'}})
        self.assert_invariants()
        self._delete_server(server)
        self.assert_invariants()
        self.assert_nothing_left()

    @proof.proves(
        'Crash of the guest',
        'The reservation is kept. There is no budget until the server is '
        'started again.')
    def test_crash(self) -> None:
        server = self.reserved()
        self.crash(server)
        self.assert_invariants()
        self.assert_off(server, 'host1', 600)
        self._wait_for_state_change(server, 'SHUTOFF')
        self.act(server, 'os-start', None, 'ACTIVE')
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Host reboot, resume_guests_state_on_host_boot = true',
        'The reservation is kept, and applied before each guest runs.')
    def test_host_reboot_resumed(self) -> None:
        self.flags(resume_guests_state_on_host_boot=True)
        servers = [self.reserved(share=300) for _ in range(2)]
        self.power_cut('host1')
        self.restart_compute_service('host1')
        self.assert_invariants()
        for server in servers:
            self.assert_runs(server, 'host1', 300)

    @proof.proves(
        'Host reboot, resume_guests_state_on_host_boot = false',
        'The reservation is kept, and applied when the server is started.')
    def test_host_reboot(self) -> None:
        self.flags(resume_guests_state_on_host_boot=False)
        server = self.reserved()
        self.power_cut('host1')
        self.restart_compute_service('host1')
        self.assert_invariants()
        self.assert_off(server, 'host1', 600)
        self.act(server, 'reboot', {'type': 'HARD'}, 'ACTIVE')
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Restart of nova-compute',
        'The reservations are kept, and no budget changes.')
    def test_restart(self) -> None:
        server = self.reserved()
        self.kernel().written.clear()
        self.restart_compute_service('host1')
        self.assertEqual([], [
            path for path, _ in self.kernel().written
            if '/machine/' in path])
        self.assert_invariants()
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Reboot from inside a container, start by virsh',
        'The reservation is kept, and applied at the event of libvirt. If '
        'the kernel refuses the budget, the guest is ended.')
    def test_started_by_somebody_else(self) -> None:
        server = self.reserved()
        domain = self.domain(server)
        self.guests.reboot(domain)
        # Until the event, a virtual machine runs without its reservation: see
        # the result.
        self.unreserved.clear()
        self.assert_invariants()
        self.assert_runs(server, 'host1', 600)
        self.guests.vanish(domain)
        self.kernel().intercept = self.refuse
        type(domain).createWithFlags(domain, 0)
        self.kernel().intercept = None
        self.unreserved.clear()
        self.assertEqual([], self.alive('host1'))
        self.assertIn('would run without its CPU reservation',
                      self.stdlog.logger.output)
        self.event(server, 'host1', virtevent.EVENT_LIFECYCLE_STOPPED)
        self.assert_invariants()
        self.assert_off(server, 'host1', 600)

    @staticmethod
    def refuse(path: str, text: str) -> None:
        if '.libvirt-' in path and 'rt_' in path and text != '0':
            raise OSError(22, 'refused', path)


class ContainerTest(LifecycleTests, operations.TestCase):
    """The tests on a kernel that grants a runtime on every CPU."""

    #: servers of 0.6 that fill a host
    FILLS = 1


class MachineTest(LifecycleTests, operations.TestCase):
    """Virtual machines, on a kernel with a runtime for each CPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'
    FILLS = 4

    @proof.proves(
        'Suspend, resume',
        'The reservation is kept. There is no budget while the server is '
        'suspended.')
    def test_suspend(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        self.act(server, 'suspend', None, 'SUSPENDED')
        self.assert_off(server, 'host1', 600)
        self.act(server, 'resume', None, 'ACTIVE')
        self.assertEqual(before, self.claimed(server))
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Snapshot',
        'The reservation is kept.')
    def test_snapshot(self) -> None:
        server = self.reserved()
        self.act(server, 'createImage', {'name': 'image'}, 'ACTIVE')
        self.assert_runs(server, 'host1', 600)


class BuildingTest(operations.TestCase):
    """The tests with real casts: a request does not wait for its end."""

    HOSTS = ('host1',)
    CAST_AS_CALL = False

    @proof.proves(
        'Delete while building',
        'The reservation is released.')
    def test_delete(self) -> None:
        asked = []

        def create(driver: Any, context: Any, instance: Any, *args: Any,
                   **kwargs: Any) -> tuple[bool, bool]:
            asked.append(len(self.tracked('host1')))
            self.api.delete_server(instance.uuid)
            return False, False

        self.useFixture(fixtures.MonkeyPatch(
            'nova.virt.libvirt.LibvirtDriver._create_image', create))
        server = self.post(self.flavor(600))
        self._wait_until_deleted(server)
        self.assertEqual([1], asked)
        self._wait_for_assert(self.assert_nothing_left)


load_tests = seeds.load_of_the_day(__name__, 6, 'NOVA_RT_OPERATIONS')
