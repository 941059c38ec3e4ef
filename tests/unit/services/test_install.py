# SPDX-License-Identifier: Apache-2.0

"""Tests that our driver is found below nova.virt."""

import importlib.metadata
import importlib.util
import sys
from unittest import mock

import fixtures
from nova import virt
import os_vif
from oslotest import base

from nova_rt.services import install


class LoaderTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        paths = [path for path in virt.__path__ if path != install.SHIM]
        self.useFixture(fixtures.MockPatchObject(virt, '__path__', paths))
        # Another test may have imported the driver.
        modules = mock.patch.dict(sys.modules)
        modules.start()
        self.addCleanup(modules.stop)
        sys.modules.pop('nova.virt.nova_rt', None)

    def test_driver_is_found(self):
        self.assertIsNone(importlib.util.find_spec('nova.virt.nova_rt'))
        install.Loader.load('nova_rt')
        found = importlib.util.find_spec('nova.virt.nova_rt')
        self.assertEqual(install.SHIM + '/nova_rt.py', found.origin)

    def test_added_once_and_last(self):
        install.extend_nova_virt()
        install.extend_nova_virt()
        self.assertEqual([install.SHIM], virt.__path__[1:])

    def test_users_of_os_vif_without_nova(self):
        self.useFixture(fixtures.MockPatchObject(
            sys, 'modules', {name: module for name, module
                             in sys.modules.items() if name != 'nova'}))
        install.Loader.load('nova_rt')
        self.assertNotIn(install.SHIM, virt.__path__)

    def test_plugin_without_vifs(self):
        os_vif.initialize()
        plugin = install.Loader.load('nova_rt')
        info = plugin.describe()
        self.assertEqual(('nova_rt', []), (info.plugin_name, info.vif_info))
        self.assertIsNone(plugin.plug(None, None))
        self.assertIsNone(plugin.unplug(None, None))

    def test_entry_point(self):
        entry, = importlib.metadata.entry_points(group='os_vif',
                                                 name='nova_rt')
        self.assertIs(install.Loader, entry.load())
