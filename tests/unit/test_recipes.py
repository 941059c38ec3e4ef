# SPDX-License-Identifier: Apache-2.0

"""The pipelines of the page about OpenStack-Ansible are those of Nova."""

import configparser
import pathlib
import sys
import unittest

import yaml

from tests import recipes

_PASTE = pathlib.Path(sys.prefix) / 'etc/nova/api-paste.ini'


class OpenStackAnsibleTest(unittest.TestCase):

    def test_the_pipelines(self) -> None:
        for_all, _ = recipes.blocks('openstack-ansible', 'yaml')
        overrides = yaml.safe_load(for_all)['nova_api_paste_ini_overrides']
        self.assertEqual({'use': 'egg:nova-rt#reservation_hints'},
                         overrides.pop('filter:nova_rt'))
        parser = configparser.RawConfigParser()
        parser.read(_PASTE)
        self.assertEqual(
            {name for name in parser.sections()
             if name.startswith('composite:openstack_compute_api_v21')},
            {*overrides})
        for name, section in overrides.items():
            self.assertEqual(
                parser[name]['keystone'],
                section['keystone'].replace(' nova_rt', ''))
            self.assertIn('keystonecontext nova_rt ', section['keystone'])
