# SPDX-License-Identifier: Apache-2.0

"""The pipelines of the page about OpenStack-Ansible are those of Nova."""

import configparser
import pathlib
import re
import sys
import textwrap
import unittest

import yaml

_ROOT = pathlib.Path(__file__).parents[2]
_PAGE = (_ROOT / 'doc/source/install/openstack-ansible.rst').read_text()
_PASTE = pathlib.Path(sys.prefix) / 'etc/nova/api-paste.ini'


class OpenStackAnsibleTest(unittest.TestCase):

    def test_the_pipelines(self) -> None:
        block, _ = re.findall(
            r'^\.\. code-block:: yaml\n\n((?:(?:   .*)?\n)+)', _PAGE,
            re.MULTILINE)
        overrides = yaml.safe_load(textwrap.dedent(block))[
            'nova_api_paste_ini_overrides']
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
