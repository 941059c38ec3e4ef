# SPDX-License-Identifier: Apache-2.0

"""The blocks of the page about Kolla, rendered by Kolla and Kolla-Ansible.

NOVA_RT_KOLLA names a virtual environment with kolla, docker, ansible-core and
kolla-ansible.  Nothing is built and no container runs.
"""

import configparser
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import unittest

import fixtures
import testtools

from tests import recipes

_ROOT = pathlib.Path(__file__).parents[2]
_KOLLA = os.environ.get('NOVA_RT_KOLLA', '')
_PASTE = pathlib.Path(sys.prefix) / 'etc/nova/api-paste.ini'
#: Values that Kolla-Ansible computes elsewhere and the container does not
#: need.
_GIVEN = '''
kolla_container_engine: docker
nova_cell_compute_group: compute
nova_compute_image_full: image
nova_compute_default_volumes: [/run:/run]
nova_compute_dimensions: {}
nova_compute_healthcheck: {}
run_default_volumes_docker: []
enable_nova_fake: false
'''
_PLAY = '''
- hosts: localhost
  connection: local
  gather_facts: false
  vars_files: [services.yml, given.yml, globals.yml]
  vars:
    service: "{{ nova_cell_services['nova-compute'] }}"
  tasks:
    - ansible.builtin.copy:
        dest: "{{ playbook_dir }}/container.json"
        content: "{{ container | to_json }}"
      vars:
        container:
'''


@unittest.skipUnless(_KOLLA, 'NOVA_RT_KOLLA names no environment with Kolla')
class KollaTest(testtools.TestCase):

    def setUp(self) -> None:
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def run_tool(self, name: str, *argv: str) -> None:
        result = subprocess.run(
            [f'{_KOLLA}/bin/{name}', *argv], cwd=self.folder, text=True,
            capture_output=True)
        self.assertEqual(0, result.returncode, result.stdout + result.stderr)

    def dockerfile(self) -> str:
        """Returns the Dockerfile of nova-base, as Kolla renders it."""
        ini, = recipes.blocks('kolla', 'ini')
        override, = recipes.blocks('kolla', 'jinja')
        (self.folder / 'kolla-build.conf').write_text(ini)
        (self.folder / 'nova-rt.j2').write_text(override)
        self.run_tool(
            'kolla-build', '--template-only', '--base', 'debian',
            '--config-file', 'kolla-build.conf', '--work-dir', 'work',
            '--template-override', 'nova-rt.j2', '^nova-')
        return (self.folder / 'work/docker/nova/nova-base/Dockerfile'
                ).read_text()

    def test_the_image(self) -> None:
        dockerfile = self.dockerfile()
        self.assertIn('ADD plugins-archive /', dockerfile)
        last = dockerfile.rpartition('\nRUN ')[2]
        self.assertIn('rootwrap.d/nova-rt.filters /etc/nova/rootwrap.d/',
                      last)
        paste = self.folder / 'api-paste.ini'
        paste.write_text(_PASTE.read_text())
        venv = self.folder / 'venv/share/nova-rt/rootwrap.d'
        venv.mkdir(parents=True)
        (venv / 'nova-rt.filters').write_text(
            (_ROOT / 'etc/rootwrap.d/nova-rt.filters').read_text())
        (self.folder / 'rootwrap.d').mkdir()
        command = last.replace('/etc/nova', str(self.folder)).replace(
            '/var/lib/kolla/venv', str(self.folder / 'venv'))
        subprocess.run(['sh', '-ec', command], check=True)
        self.assertTrue((self.folder / 'rootwrap.d/nova-rt.filters').exists())
        parser = configparser.RawConfigParser()
        parser.read(paste)
        self.assertEqual('egg:nova-rt#reservation_hints',
                         parser['filter:nova_rt']['use'])
        for name in ('v21', 'v21_legacy_v2_compatible'):
            filters = parser[f'composite:openstack_compute_api_{name}'][
                'keystone'].split()
            self.assertEqual('nova_rt', filters[
                filters.index('keystonecontext') + 1])

    def test_the_container(self) -> None:
        role, = pathlib.Path(_KOLLA).glob(
            'share/kolla-ansible/ansible/roles/nova-cell')
        extra, namespaces, handler = recipes.blocks('kolla', 'yaml')
        defaults = (role / 'defaults/main.yml').read_text()
        service = re.search(r'^nova_cell_services:\n(?:  .*\n)+', defaults,
                            re.MULTILINE)
        assert service
        edited = service[0].replace(
            '  nova-compute:\n', '  nova-compute:\n'
            + textwrap.indent(namespaces, '    '))
        (self.folder / 'services.yml').write_text(edited)
        (self.folder / 'given.yml').write_text(_GIVEN)
        (self.folder / 'globals.yml').write_text(extra)
        task = (role / 'handlers/main.yml').read_text().partition(
            '- name: Restart nova-compute container\n')[2]
        call = task.partition('  kolla_container:\n')[2].partition('\n\n')[0]
        arguments = '\n'.join(line for line in call.splitlines()
                              if 'common_options' not in line)
        (self.folder / 'play.yml').write_text(
            _PLAY + textwrap.indent(
                f'{arguments}\n{textwrap.indent(handler, "    ")}', '      '))
        self.run_tool(
            'ansible-playbook', '-i', 'localhost,', '-e',
            f'ansible_python_interpreter={_KOLLA}/bin/python', 'play.yml')
        found = json.loads((self.folder / 'container.json').read_text())
        self.assertEqual(('host', 'host'), (found['pid_mode'],
                                            found['cgroupns_mode']))
        self.assertLess({'/sys/fs/cgroup:/sys/fs/cgroup', '/run:/run'},
                        {*found['volumes']})
