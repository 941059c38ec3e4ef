# SPDX-License-Identifier: Apache-2.0

"""The variables of the page about OpenStack-Ansible, rendered by its roles.

NOVA_RT_OSA names a virtual environment with ansible-core.  Its folder src has
the repositories openstack-ansible-os_nova, ansible-role-systemd_service and
ansible-config_template.  The tasks of the roles run for a host of
nova-scheduler and nova-api, and for a host of nova-compute; all files go to a
temporary folder.
"""

import importlib
import os
import pathlib
import subprocess
import sys
from typing import Any
import unittest

import fixtures
from oslo_config import cfg
from paste import deploy
import testtools
import yaml

from nova_rt.services.api import middleware
from tests import recipes

_OSA = os.environ.get('NOVA_RT_OSA', '')
_SRC = pathlib.Path(_OSA) / 'src'
_ROLE = _SRC / 'openstack-ansible-os_nova'
_NOVA = pathlib.Path(sys.prefix) / 'etc/nova'
_HOSTS = '''
[all:vars]
ansible_connection=local
[nova_compute]
compute
[nova_api_os_compute]
control
[nova_scheduler]
control
[nova_conductor]
control
[nova_api_metadata]
[nova_console]
[ironic_console]
'''
#: What other roles and the secrets of a deployment give.
_GIVEN = '''
external_lb_vip_address: 192.0.2.1
internal_lb_vip_address: 192.0.2.2
ironic_console_type: novnc
keystone_service_adminuri: http://192.0.2.2:5000
keystone_service_adminurl: http://192.0.2.2:5000/v3
keystone_service_internaluri: http://192.0.2.2:5000
keystone_service_publicuri: http://192.0.2.1:5000
keystone_service_adminuri_insecure: false
keystone_service_internaluri_insecure: false
keystone_service_region: RegionOne
memcached_servers: 192.0.2.2:11211
memcached_encryption_key: key
nova_api_container_mysql_password: secret
nova_container_mysql_password: secret
nova_metadata_proxy_secret: secret
nova_oslomsg_rpc_password: secret
nova_service_password: secret
nova_virt_type: kvm
'''
#: Arguments of tasks that this test leaves out: they need the user nova.
_OF_USERS = ('owner', 'group', 'mode')
_TASKS = ('Set nova config facts', 'Generate nova config',
          'Copy common config')


@unittest.skipUnless(_OSA, 'NOVA_RT_OSA names no environment with Ansible')
class OpenStackAnsibleTest(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def render(self) -> None:
        """Lets the roles write the files of both hosts."""
        for_all, for_group = recipes.blocks('openstack-ansible', 'yaml')
        role = (_ROLE / 'vars/main.yml').read_text().replace(
            '/tmp/', f'{self.folder}/')  # noqa: S108
        for name, text in (
                ('user_variables.yml', for_all), ('role.yml', role),
                ('given.yml', f'{_GIVEN}nova_bin: {self.folder}/'
                 '{{ inventory_hostname }}/bin\n'), ('hosts.ini', _HOSTS),
                ('group_vars/all.yml', for_group),
                ('play.yml', yaml.safe_dump([self.play()]))):
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        collections = self.folder / 'ansible_collections/openstack'
        collections.mkdir(parents=True)
        (collections / 'config_template').symlink_to(
            _SRC / 'ansible-config_template')
        (self.folder / 'templates').symlink_to(_ROLE / 'templates')
        for host in ('control', 'compute'):
            (self.folder / host / 'etc/nova').mkdir(parents=True)
        for name in ('api-paste.ini', 'rootwrap.conf'):
            (self.folder / name).write_bytes((_NOVA / name).read_bytes())
        result = subprocess.run(
            [f'{_OSA}/bin/ansible-playbook', '-i', 'hosts.ini',
             '-e', '@user_variables.yml',
             '-e', f'ansible_python_interpreter={_OSA}/bin/python',
             'play.yml'], cwd=self.folder, text=True, capture_output=True,
            env={**os.environ,
                 'ANSIBLE_COLLECTIONS_PATH': str(self.folder)})
        self.assertEqual(0, result.returncode, result.stdout + result.stderr)

    def play(self) -> dict[str, Any]:
        after = yaml.safe_load(
            (_ROLE / 'tasks/nova_post_install.yml').read_text())
        tasks = {each['name']: each for each in after}
        units = _SRC / 'ansible-role-systemd_service'
        folder = str(self.folder / '{{ inventory_hostname }}')
        return {
            'hosts': 'all',
            'vars_files': [
                str(units / 'defaults/main.yml'),
                str(_ROLE / 'defaults/main.yml'),
                str(_ROLE / 'vars/debian.yml'), 'role.yml',
                str(_ROLE / 'vars/source_install.yml'), 'given.yml'],
            'vars': {'ansible_managed': 'by Ansible'},
            'tasks': [*(_plain(tasks[name]) for name in _TASKS), {
                'ansible.builtin.template': {
                    'src': 'sudoers.j2', 'dest': f'{folder}/sudoers'}}, {
                'ansible.builtin.template': {
                    'src': str(units / 'templates/systemd-service.j2'),
                    'dest': f'{folder}/nova-compute.service'},
                'vars': {
                    'item': "{{ nova_services['nova-compute'] }}",
                    'systemd_user_name': '{{ nova_system_user_name }}'}}]}

    def conf(self, host: str) -> cfg.ConfigOpts:
        """Returns nova.conf of a host, with the options that count here."""
        conf = cfg.ConfigOpts()
        conf.register_opts(
            [cfg.MultiStrOpt('available_filters'),
             cfg.ListOpt('enabled_filters'), cfg.ListOpt('weight_classes')],
            'filter_scheduler')
        conf.register_opt(cfg.StrOpt('compute_driver'))
        conf.register_opt(cfg.StrOpt('cpu_shared_set'), 'compute')
        conf.register_opt(cfg.StrOpt('rt_cpus'), 'nova_rt')
        conf(['--config-file', str(self.folder / host / 'etc/nova/nova.conf')],
             default_config_files=[], default_config_dirs=[])
        return conf

    def test_the_recipe(self) -> None:
        self.render()
        self.check_scheduler()
        self.check_compute()
        self.check_api()
        self.check_privileges()

    def check_scheduler(self) -> None:
        conf = self.conf('control')
        self.assertIsNone(conf.compute_driver)
        known = conf.filter_scheduler.available_filters
        self.assertEqual(['nova.scheduler.filters.all_filters',
                          'nova_rt.scheduler.filters.RTShareFilter'], known)
        self.assertIn('ComputeFilter', conf.filter_scheduler.enabled_filters)
        self.assertEqual('RTShareFilter',
                         conf.filter_scheduler.enabled_filters[-1])
        for name in [*known, *conf.filter_scheduler.weight_classes]:
            module, _, attribute = name.rpartition('.')
            self.assertTrue(hasattr(importlib.import_module(module),
                                    attribute), name)

    def check_compute(self) -> None:
        conf = self.conf('compute')
        self.assertEqual(
            ('nova_rt.RTLibvirtDriver', '0-15', '2-15'),
            (conf.compute_driver, conf.compute.cpu_shared_set,
             conf.nova_rt.rt_cpus))

    def check_api(self) -> None:
        paste = f'config:{self.folder}/control/etc/nova/api-paste.ini'
        wrap = deploy.loadfilter(paste, name='nova_rt')
        self.assertIsInstance(wrap(None), middleware.ReservationHints)
        before = deploy.appconfig(f'config:{_NOVA}/api-paste.ini',
                                  name='openstack_compute_api_v21')
        after = deploy.appconfig(paste, name='openstack_compute_api_v21')
        self.assertEqual(before['keystone'].split(), [
            each for each in after['keystone'].split() if each != 'nova_rt'])

    def check_privileges(self) -> None:
        sudoers = (self.folder / 'compute/sudoers').read_text()
        self.assertIn('nova ALL = (root) NOPASSWD: '
                      f'{self.folder}/compute/bin/privsep-helper\n', sudoers)
        unit = (self.folder / 'compute/nova-compute.service').read_text()
        self.assertIn('User=nova\n', unit)
        for word in ('ProtectProc', 'ProtectControlGroups', 'ProtectKernel',
                     'NoNewPrivileges', 'CapabilityBoundingSet',
                     'RestrictRealtime', '=True'):
            self.assertNotIn(word, unit.replace('Accounting=True', ''))


def _plain(task: dict[str, Any]) -> dict[str, Any]:
    """Returns a task of the role without users and handlers."""
    return {key: {name: each for name, each in value.items()
                  if name not in _OF_USERS}
            if key.endswith('config_template') else value
            for key, value in task.items() if key not in ('notify', 'tags')}
