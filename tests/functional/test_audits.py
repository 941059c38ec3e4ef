# SPDX-License-Identifier: Apache-2.0

"""Audits at the seams of all operations; see audits."""

from tests.functional import audits
from tests.functional import live
from tests.functional import operations


class ContainerTest(audits.AuditTests, operations.TestCase):
    """On a kernel that grants a runtime on every CPU."""


class MachineTest(audits.AuditTests, operations.TestCase):
    """Virtual machines, on a kernel with a runtime for each CPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'
    VCPUS = 2

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
