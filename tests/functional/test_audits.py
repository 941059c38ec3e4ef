# SPDX-License-Identifier: Apache-2.0

"""Audits at the seams of all operations; see audits."""


from tests.functional import audits
from tests.functional import live
from tests.functional import operations
from tests import proof
from tests import seeds


class OperationTests(audits.Audits):
    """The audits, for containers and virtual machines."""

    @proof.proves(
        'Audit, or start of nova-compute, at any step of create, delete, '
        'reboot, stop, start, rebuild, shelve, unshelve, soft delete, '
        'restore',
        'All claims are kept, and the budgets of guests do not change.')
    def test_life(self) -> None:
        self.flags(shelved_offload_time=-1, reclaim_instance_interval=600)
        with self.audited('create'):
            body = self.request(self.large)
            body['server']['host'] = 'host1'
            server = self.api.post_server(body)
            self.killer.wait()
        self._wait_for_state_change(server, 'ACTIVE')
        for action, body, status in (
                ('reboot', {'type': 'SOFT'}, 'ACTIVE'),
                ('reboot', {'type': 'HARD'}, 'ACTIVE'),
                ('os-stop', None, 'SHUTOFF'),
                ('os-start', None, 'ACTIVE'),
                ('rebuild', {'imageRef': operations.IMAGE}, 'ACTIVE'),
                ('shelve', None, 'SHELVED'),
                ('shelveOffload', None, 'SHELVED_OFFLOADED'),
                ('unshelve', None, 'ACTIVE')):
            self.does(server, action, body, status)
        with self.audited('soft delete'):
            self.api.delete_server(server['id'])
            self.killer.wait()
        self.does(server, 'restore')
        with self.audited('delete'):
            self.api.post_server_action(server['id'], {'forceDelete': None})
            self.killer.wait()
        self.assert_nothing_left(*self.computes)

    @proof.proves(
        'Audit, or start of nova-compute, at any step of a resize or cold '
        'migration, confirmed or reverted',
        'All claims are kept, and the budgets of guests do not change.')
    def test_moves(self) -> None:
        for action, flavor in (('migrate', None), ('resize', self.large)):
            body = {'flavorRef': flavor} if flavor else None
            for end in ('revertResize', 'confirmResize'):
                server = self.boot_on('host1', self.small)
                self.does(server, action, body, 'VERIFY_RESIZE')
                self.does(server, end, name=f'{end} of {action}')
                self.ends(server)

    @proof.proves(
        'Audit, or start of nova-compute, at any step of a resize on the '
        'same host',
        'All claims are kept, and the guest that still runs keeps its '
        'pCPUs.')
    def test_resize_here(self) -> None:
        # Nova uses the name of its host to tell whether a server stayed.
        self.flags(allow_resize_to_same_host=True, host='host1')
        self.disable('host2')
        for end in ('revertResize', 'confirmResize'):
            server = self.boot_on('host1', self.small)
            self.does(server, 'resize', {'flavorRef': self.large},
                      'VERIFY_RESIZE', 'resize here')
            self.does(server, end, name=f'{end} here')
            self.ends(server)

    @proof.proves(
        'Audit, or start of nova-compute, at any step of an evacuation of a '
        'server in state active, stopped or error',
        'All claims are kept, and the budgets of guests do not change.')
    def test_evacuate(self) -> None:
        for state in ('active', 'stopped', 'error'):
            server = self.boot_on('host1', self.small)
            if state == 'stopped':
                self.act(server, 'os-stop', None, 'SHUTOFF')
            lost = self.lose('host1')
            if state == 'error':
                self.refused(server, 'os-resetState', {'state': 'error'})
            self.does(server, 'evacuate', {},
                      {'error': 'ACTIVE'}.get(state, 'SHUTOFF'),
                      f'evacuate ({state})')
            self.come_back('host1', lost)
            self.ends(server)


class ContainerTest(OperationTests, operations.TestCase):
    """The tests on a kernel that grants a runtime on every CPU."""


class MachineTest(OperationTests, operations.TestCase):
    """Virtual machines, on a kernel with a runtime for each CPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'
    VCPUS = 2

    @proof.proves(
        'Audit, or start of nova-compute, at any step of a live migration, '
        'completed or failed',
        'All claims are kept, and the budgets of guests do not change.')
    def test_live_migration(self) -> None:
        libvirt = self.useFixture(live.Migrations(
            self.guests, lambda: self.computes[
                'host2'].driver._host.get_connection()))
        for ends, host in ((live.FAILED, 'host1'), (live.COMPLETED, 'host2')):
            libvirt.ends = ends
            server = self.boot_on('host1', self.large)
            self.domain(server)._job_type = live.NONE
            self.does(server, 'os-migrateLive', {
                'host': None, 'block_migration': 'auto'},
                name=f'live migration to {host}')
            self.assertEqual(host, self.host_of(server))
            self.ends(server)


load_tests = seeds.load_of_the_day(__name__, 3, 'NOVA_RT_AUDIT')
