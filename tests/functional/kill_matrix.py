# SPDX-License-Identifier: Apache-2.0

"""nova-compute is killed at each step of each operation.

The test counts the steps: each operation runs once undisturbed, and then once
for each seam that its computes passed; the compute ends at that seam.  After a
restart and one audit nothing may be beyond a cap or leaked, and each server
that still runs has its reservation.  ``NOVA_RT_KILL`` is the part of the seams
that is used, 1 for all of them; ``tests.seeds`` says which seams.
``NOVA_RT_KILL_POINT`` is ``operation:number[,number...]`` for a few seams.
"""

from collections.abc import Callable
import dataclasses
import math
import os
import time
import traceback
from typing import Any

from nova.compute import resource_tracker
from nova.compute import task_states
from nova import objects

from nova_rt.rules import hostmap
from nova_rt.services.compute import claims
from tests.functional import invariants
from tests.functional import kill
from tests.functional import operations
from tests.functional import repairs
from tests.functional import watched
from tests import seeds

Server = operations.Server
#: Migrations that no compute counts any more.
_OVER = ('confirmed', 'reverted', 'error', 'failed', 'completed',
         'cancelled', 'done')


@dataclasses.dataclass(frozen=True)
class Operation:
    """An operation on a server, and the preparation of its start."""

    name: str
    prepare: Callable[[], Any]
    run: Callable[[Any], Any]
    after: Callable[[], None] = lambda: None


class KillTests(watched.Watched):
    """The kill points, for containers and virtual machines."""

    #: the part of the seams, unless NOVA_RT_KILL says otherwise: all seams
    #: take an hour
    SHARE = 0.06

    def setUp(self) -> None:
        super().setUp()
        self.healed = 0
        self.lost: Any = None
        self.killer = self.useFixture(kill.Killer(self.look))
        self.operator = self.useFixture(repairs.Operator(self))

    def _configure(self) -> None:
        super()._configure()
        # A compute that is killed again and again may never report that it is
        # up.
        self.flags(service_down_time=3600)

    # The matrix.

    def matrix(self, operation: Operation) -> None:
        started, used = time.monotonic(), time.process_time()
        names = self.count(operation)
        points = self.points(operation.name, len(names))
        if os.environ.get('NOVA_RT_KILL_POINT'):
            print('\n'.join(f'{number} {name}' for number, name
                            in enumerate(names, 1)))
        failed, done = [], 0
        for number in points:
            try:
                done += self.kill_at(operation, number)
            except Exception as error:
                if os.environ.get('NOVA_RT_KILL_POINT'):
                    print(traceback.format_exc(), self.story())
                failed.append(f'{operation.name}:{number} '
                              f'{self.killer.seams[-1:]}: {error}')
                print(failed[-1])
                self.sweep()
        print(f'NOVA_RT_DAY={seeds.day()} '
              f'{type(self).__name__} {operation.name}: {done} kill points '
              f'of {len(names)} seams, {len(failed)} failed, '
              f'{self.healed} allocations of given-up moves to heal, '
              f'{time.monotonic() - started:.0f} s, '
              f'{time.process_time() - used:.0f} s of CPU time')
        self.assertEqual([], failed, '\n\n'.join(failed))

    def count(self, operation: Operation) -> list[str]:
        server = operation.prepare()
        with self.killer.armed():
            operation.run(server)
        names = list(self.killer.seams)
        operation.after()
        self.finish()
        return names

    def points(self, name: str, seams: int) -> list[int]:
        point = os.environ.get('NOVA_RT_KILL_POINT')
        if point:
            operation, _, numbers = point.partition(':')
            return (list(map(int, numbers.split(',')))
                    if operation == name else [])
        every = range(1, seams + 1)
        share = float(os.environ.get('NOVA_RT_KILL') or self.SHARE)
        return sorted(seeds.sample(f'{self.id()} {name}').sample(
            every, math.ceil(seams * share)))

    def kill_at(self, operation: Operation, number: int) -> bool:
        """:returns: whether there was such a seam in this run"""
        server = operation.prepare()
        with self.killer.armed(number):
            operation.run(server)
        killed = bool(self.killer.dead)
        self.restart()
        self.check()
        self.operate()
        operation.after()
        self.finish()
        return killed

    # After a kill.

    def restart(self) -> None:
        for host in self.killer.revive():
            self.computes[host].manager.graceful_shutdown = _nothing
            self.restart_compute_service(host)
        for host in self.computes:
            self.audit(host)

    def check(self) -> None:
        self.assertEqual([], self.beyond)
        for host in self.computes:
            self.assert_safe(host)
            extra = self.tracked(host) - self._stored(host)
            self.assertLessEqual(extra, self.kept(host))
            # Nova forgets the guest of an evacuation that was killed; the
            # guest has no budget, see assert_safe.
            self.assertLessEqual({
                uuid for uuid in self.running(host)
                if self.instance({'id': uuid}).host == host},
                set(self.stored(host)))

    def running(self, host: str) -> set[str]:
        return {domain.UUIDString() for domain in self.alive(host)}

    def is_well(self, server: Server) -> bool:
        """Returns whether the server runs, and Nova takes it for running."""
        host = server['OS-EXT-SRV-ATTR:host']
        return (server['status'] == 'ACTIVE'
                and not server['OS-EXT-STS:task_state']
                and host in self.computes
                and server['id'] in self.running(host))

    def _stored(self, host: str) -> set[str]:
        # Only what Nova counts: a context outlives a move that was given up.
        provider, found = self.provider(host), set()
        for instance in objects.InstanceList.get_by_filters(
                self.cell_context(), {'deleted': False},
                expected_attrs=['resources', 'migration_context']):
            here = identifiers(provider, instance.resources)
            moving, move = self.is_moving(instance), identifiers(provider)
            if instance.migration_context:
                move = identifiers(
                    provider, instance.migration_context.old_resources,
                    instance.migration_context.new_resources)
            if moving or instance.host == host:
                found |= here
            if moving or (instance.host == host and not here):
                found |= move
            if instance.task_state == task_states.RESIZE_REVERTING and (
                    instance.migration_context):
                # Nova ends the migration first; the server is not yet back at
                # its source.
                found |= identifiers(
                    provider, instance.migration_context.old_resources)
        return found

    def kept(self, host: str) -> set[str]:
        """Returns the claims that count while a guest runs.

        After a killed move on one host, Nova keeps the context of the move.
        """
        provider, found = self.provider(host), set()
        for uuid in self.running(host):
            context = self.instance({'id': uuid}).migration_context
            if context is not None and context.migration_id and (
                    self.is_on_one_host(context)):
                found |= identifiers(provider, context.old_resources,
                                     context.new_resources)
        return found

    def in_force(self, host: str, domain: Any, granted: invariants.Grants
                 ) -> claims.RTClaim | None:
        """After a killed move on one host, the guest may hold either claim."""
        uuid = domain.UUIDString()
        for text in self.kept(host) & self.tracked(host):
            claim = claims.RTClaim.parse(text)
            if claim.instance_uuid == uuid and self.expected(
                    host, domain.rt_pid, claim).items() <= granted.items():
                return claim
        return super().in_force(host, domain, granted)

    def is_on_one_host(self, context: Any) -> bool:
        move = objects.Migration.get_by_id(
            self.cell_context(), context.migration_id)
        return bool(move.source_compute == move.dest_compute)

    def is_moving(self, instance: Any) -> bool:
        context = instance.migration_context
        if context is None:
            return False
        migration = objects.Migration.get_by_id(
            self.cell_context(), context.migration_id)
        # In some states of a server, Nova does not count its evacuation.
        return migration.status not in _OVER and (
            migration.migration_type == 'evacuation'
            or resource_tracker._instance_in_resize_state(instance))

    def operate(self) -> None:
        """Repairs servers that Nova left half done, as operators do."""
        for server in self.api.get_servers():
            if server['status'] == 'VERIFY_RESIZE':
                self.refused(server, 'confirmResize')
                server = self.api.get_server(server['id'])
            if not self.is_well(server):
                self.repair(server)
        self.killer.wait()
        for host in self.computes:
            self.audit(host)
        self.check()

    def repair(self, server: Server) -> None:
        if server['OS-EXT-SRV-ATTR:host'] not in self.computes:
            return  # The guest was never there, or its host is lost.
        self.refused(server, 'os-resetState', {'state': 'active'})
        if self.refused(server, 'reboot', {'type': 'HARD'}):
            # There is no guest to start: Nova can only delete the server.
            self.refused(server, 'os-resetState', {'state': 'error'})
            return
        self.killer.wait()
        server = self.api.get_server(server['id'])
        self.assertTrue(self.is_well(server), server)

    def end(self, server: Server, host: str) -> None:
        """Does what virsh destroy and virsh undefine do."""
        connection = self.computes[host].driver._host.get_connection()
        for domain in list(connection._vms.values()):
            if domain.UUIDString() == server['id']:
                self.guests.forget(domain)

    def finish(self) -> None:
        """Deletes all servers, and checks that nothing of them is left."""
        for server in self.api.get_servers(detail=False):
            self.api.delete_server(server['id'])
        self.killer.wait()
        self.assertEqual([], self.api.get_servers(detail=False))
        for host in self.computes:
            self.audit(host)
        self.healed += self.operator.heal()
        for host in self.computes:
            self.assertEqual({}, self._granted(host))
            self.assertEqual({}, self.guests.hosts[host].running)
        self.assert_nothing_left(*self.computes)
        self.operator.audit()
        self.archive()

    def archive(self) -> None:
        """Removes old records, which audits of later points would read."""
        for host, compute in self.computes.items():
            node = compute.driver.get_available_nodes()[0]
            for each in objects.MigrationList.get_in_progress_and_error(
                    self.cell_context(), host, node):
                each.status = 'failed'
                each.save()

    def story(self) -> str:
        """Returns what became of the servers."""
        return '\n'.join(
            f'{each.uuid} on {each.host} {each.vm_state} {each.task_state} '
            f'{[found.identifier for found in each.resources or ()]} '
            f'{each.migration_context}'
            for each in objects.InstanceList.get_by_filters(
                self.cell_context(), {'deleted': False},
                expected_attrs=['resources', 'migration_context']))

    def sweep(self) -> None:
        """Cleans up after a failure: the next point starts from nothing."""
        self.beyond.clear()
        self.killer.wait()
        for server in self.api.get_servers(detail=False):
            self.forget(server)
        if self.lost:
            self.come_back('host1', self.lost)
            self.lost = None
        self.restart()
        self.finish()

    # Operations.

    def boot_here(self, flavor: str) -> Server:
        body = self.request(flavor)
        body['server']['host'] = 'host1'
        server = self.api.post_server(body)
        self.killer.wait()
        return dict(self._wait_for_state_change(server, 'ACTIVE'))

    def create(self, unused: Any) -> None:
        body = self.request(self.large)
        body['server']['host'] = 'host1'
        self.api.post_server(body)

    def test_create(self) -> None:
        self.matrix(Operation('create', lambda: None, self.create))

    def test_delete(self) -> None:
        self.matrix(Operation(
            'delete', lambda: self.boot_here(self.large),
            lambda server: self.api.delete_server(server['id'])))

    def action(self, name: str, body: Any = None) -> Callable[[Any], None]:
        def run(server: Server) -> None:
            self.api.post_server_action(server['id'], {name: body})
        return run

    def moved(self, name: str, body: Any = None) -> Server:
        server = self.boot_here(self.small)
        self.action(name, body)(server)
        self.killer.wait()
        return dict(self._wait_for_state_change(server, 'VERIFY_RESIZE'))

    def test_confirm(self) -> None:
        self.matrix(Operation(
            'confirm', lambda: self.moved('migrate'),
            self.action('confirmResize')))


def identifiers(provider: str, *resources: Any) -> set[str]:
    """Returns the claims at one provider."""
    return {each.identifier for held in resources for each in held or ()
            if (each.resource_class, each.provider_uuid)
            == (hostmap.RESOURCE_CLASS, provider)}


def _nothing(timeout: float) -> None:
    """A process that was killed cleans nothing up."""
