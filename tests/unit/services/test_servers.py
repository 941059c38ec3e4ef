# SPDX-License-Identifier: Apache-2.0

"""Tests that a server is found, or there is none."""

from unittest import mock

import fixtures
from nova import context
from nova import exception as nova_exception
from nova import objects
from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.services import servers
from tests.unit import base


class FindTest(base.TestCase):

    def find(self, mapping, server):
        for owner, name, found in (
                (objects.InstanceMapping, 'get_by_instance_uuid', mapping),
                (objects.Instance, 'get_by_uuid', server),
                (servers.nova_context, 'target_cell', mock.MagicMock())):
            kind = ('side_effect' if isinstance(found, Exception)
                    else 'return_value')
            self.useFixture(fixtures.MockPatchObject(
                owner, name, **{kind: found}))
        return servers.find(context.get_admin_context(), uuids.server)

    def mapping(self, cell=True):
        return objects.InstanceMapping(cell_mapping=objects.CellMapping(
            uuid=uuids.cell) if cell else None)

    def test_found(self):
        server = base.instance()
        self.assertIs(server, self.find(self.mapping(), server))

    def test_unknown(self):
        self.assertIsNone(self.find(
            nova_exception.InstanceMappingNotFound(uuid='?'), None))

    def test_being_created(self):
        self.assertIsNone(self.find(self.mapping(cell=False), None))

    def test_gone_or_of_another(self):
        self.assertIsNone(self.find(
            self.mapping(), nova_exception.InstanceNotFound(
                instance_id='?')))
