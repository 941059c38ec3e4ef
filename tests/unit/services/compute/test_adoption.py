# SPDX-License-Identifier: Apache-2.0

"""Tests what a server gets that a killed move has left on a host."""

from nova import objects
from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import reservation
from nova_rt.services.compute import adoption
from nova_rt.services.compute import claims
from tests.unit import base

_SHARE = reservation.Reservation(30_000, 100_000)


def _topology(cell):
    return objects.InstanceNUMATopology(cells=[objects.InstanceNUMACell(
        id=cell, cpuset={0}, pcpuset=set(), memory=64)])


class AdoptTest(base.TestCase):
    """The server was in cell 0 of the source and in cell 1 of the target."""

    def setUp(self):
        super().setUp()
        self.old = claims.RTClaim(uuids.server, 0, _SHARE, (0,))
        self.new = claims.RTClaim(uuids.server, 8, _SHARE, (2,))
        self.server = base.instance(
            resources=[self.old.to_resource(uuids.source)])
        self.server.numa_topology = _topology(0)
        self.server.migration_context = objects.MigrationContext(
            old_resources=self.server.resources,
            new_resources=objects.ResourceList(
                objects=[self.new.to_resource(uuids.target)]),
            old_numa_topology=_topology(0), new_numa_topology=_topology(1))

    def adopt(self, host):
        self.server.host = host
        found = adoption.adopt(self.server, host, [getattr(uuids, host)])
        return found, self.server.numa_topology.cells[0].id

    def test_a_killed_revert_left_it_on_the_target(self):
        self.assertEqual((self.new, 1), self.adopt('target'))
        self.assertEqual(self.new, claims.instance_claim(self.server))

    def test_a_killed_move_left_it_on_the_source(self):
        self.server.resources = self.server.migration_context.new_resources
        self.server.numa_topology = _topology(1)
        self.assertEqual((self.old, 0), self.adopt('source'))

    def test_nothing_to_change(self):
        self.assertEqual((None, 0), self.adopt('source'))
        self.server.migration_context = None
        self.assertEqual((None, 0), self.adopt('target'))

    def test_other_resources_stay(self):
        pmem = objects.Resource(
            provider_uuid=uuids.target, identifier='pmem-1',
            resource_class='CUSTOM_PMEM_NAMESPACE')
        self.server.resources.objects.append(pmem)
        self.adopt('target')
        self.assertIn('pmem-1', [each.identifier
                                 for each in self.server.resources])
