# SPDX-License-Identifier: Apache-2.0

"""nova-compute is killed, at either end, at each step of a live migration.

libvirt lives on: it continues a migration for which nobody waits any more.
"""

from typing import Any

import fixtures
from nova import objects

from tests.functional import kill
from tests.functional import kill_matrix
from tests.functional import kill_moves
from tests.functional import live

Server = kill_matrix.Server
#: in seconds; otherwise each killed destination costs half a minute
_PATIENCE = 10.0


class Migrations(live.Migrations):
    """A process that can be killed asks for the migration."""

    def __init__(self, killer: kill.Killer, *args: Any) -> None:
        super().__init__(*args)
        self._killer = killer
        self.while_copying = self._copies

    def _migrate(self, *args: Any, **kwargs: Any) -> None:
        self._killer.seam('libvirt migrateToURI3')
        with self._killer.elsewhere():
            super()._migrate(*args, **kwargs)

    def _copies(self, incoming: Any) -> None:
        """Both computes have nothing to do meanwhile, and may end."""
        for host in ('host1', 'host2'):
            self._killer.work(host, 'copy', self._killer.seam,
                              'libvirt copies')


class LiveKillTests(kill_moves.MoveKillTests):
    """Moves of servers, some of which run."""

    def setUp(self) -> None:
        super().setUp()
        #: the host that has the server after its live migration
        self.ends_at = ''
        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.services.virt.libvirt.holding.PATIENCE', _PATIENCE))
        self.libvirt = self.useFixture(Migrations(
            self.killer, self.guests, lambda: self.connection('host2')))

    def _stored(self, host: str) -> set[str]:
        # libvirt completed a live migration that Nova had given up.
        found = super()._stored(host)
        for uuid in self.running(host):
            server = objects.Instance.get_by_uuid(
                self.cell_context(), uuid,
                expected_attrs=['resources', 'migration_context'])
            if server.host != host and self.ends_at:
                found |= kill_matrix.identifiers(
                    self.provider(host),
                    server.migration_context.new_resources)
        return found

    def check(self) -> None:
        super().check()
        if self.ends_at:
            for host in self.computes:
                self.assertLessEqual(self.running(host),
                                     set(self.stored(host)))

    def connection(self, host: str) -> Any:
        return self.computes[host].driver._host.get_connection()

    def _started(self, host: str, uuid: str) -> None:
        # The thread for libvirt's events belongs to this compute.
        self.killer.work(host, 'event', super()._started, host, uuid)

    def _runs(self, host: str, domain: Any) -> None:
        # Without nova-compute, nobody can give the guest a reservation or a
        # real-time policy.
        if host not in self.killer.dead:
            super()._runs(host, domain)

    def migrate_live(self, server: Server) -> None:
        self.domain(server)._job_type = live.NONE
        self.refused(server, 'os-migrateLive', {
            'host': None, 'block_migration': 'auto'})
        self.killer.wait()
        if not self.killer.dead:
            self.assertEqual(self.ends_at, self.host_of(server))

    def operate(self) -> None:
        """Operates, and repairs the allocations on both hosts."""
        super().operate()
        if self.ends_at:
            self.operator.obey()

    def repair(self, server: Server) -> None:
        """Ends the guest elsewhere: Nova would start a second guest."""
        for host in self.computes:
            if host != server['OS-EXT-SRV-ATTR:host']:
                self.end(server, host)
        super().repair(server)

    def delete_meanwhile(self, server: Server) -> None:
        """Nova does this without the host that was lost."""
        self.migrate_live(server)
        for host in self.killer.dead:
            self._force_down(host, True)
        self.api.delete_server(server['id'])

    def restart(self) -> None:
        lost = tuple(self.killer.dead)
        super().restart()
        for host in lost:
            self._force_down(host, False)
        for compute in self.computes.values():
            compute.manager._cleanup_running_deleted_instances(
                self.cell_context())
