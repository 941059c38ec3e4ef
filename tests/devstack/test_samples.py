# SPDX-License-Identifier: Apache-2.0

"""The samples of local.conf: through the plugin, and through DevStack."""

import os
import re
import subprocess

from oslotest import base as oslotest_base
import testscenarios

from tests.devstack import base

DEVSTACK = os.environ.get('DEVSTACK_DIR')
SAMPLES = base.PROJECT / 'devstack'
NAMES = ('sample', 'sample-compute', 'sample-lxc', 'sample-tacker')
#: Repositories name their branch, and ours is no "master".
PLUGIN = 'enable_plugin nova-rt https://opendev.org/x/nova-rt main'

_PRINT = """
function enable_plugin {{ :; }}
section=$(sed -n '/^\\[\\[local|localrc/,/^\\[\\[post/p' {path})
source /dev/stdin <<< "$(grep -v '^\\[\\[' <<< "$section")"
unset section
compgen -v | while read -r name; do echo "$name=${{!name}}"; done
"""

_URL = """
source {devstack}/functions-common
source {devstack}/functions
source {devstack}/inc/meta-config
source /dev/stdin <<< "function enable_plugin {{ :; }}
$(get_meta_section {path} local localrc)"
source {devstack}/lib/rpc_backend
get_transport_url
"""


def localrc(name):
    """What it sets, by variable."""
    path = SAMPLES / f'local.conf.{name}'
    done = subprocess.run(
        ['bash', '-c', _PRINT.format(path=path)], check=True, text=True,
        stdout=subprocess.PIPE, env={'PATH': os.environ['PATH']})
    wanted = re.findall(r'^(\w+)=', path.read_text(), re.MULTILINE)
    found = dict(line.split('=', 1) for line in done.stdout.splitlines()
                 if '=' in line)
    return {key: found[key] for key in wanted if key in found}


class SampleTest(testscenarios.WithScenarios, base.DevStackTestCase):

    scenarios = [(name, {'name': name}) for name in NAMES]

    def setUp(self):
        super().setUp()
        self.path = SAMPLES / f'local.conf.{self.name}'
        self.values = localrc(self.name)

    def test_the_plugin_takes_it(self):
        self.variables |= {key: value for key, value in self.values.items()
                           if key != 'ENABLED_SERVICES'}
        self.configure(*self.values.get('ENABLED_SERVICES', ','.join(
            (*base.CONTROLLER, *base.COMPUTE))).split(','))
        self.run_plugin(*base.STACK)
        self.assertEqual('nova_rt.RTLibvirtDriver',
                         self.nova_conf().compute_driver)
        self.assertEqual(self.values.get('NOVA_RT_KERNEL_INTERFACE'),
                         self.nova_conf().nova_rt.kernel_interface)

    def test_it_enables_the_plugin(self):
        self.assertIn(f'\n{PLUGIN}\n', self.path.read_text())

    def test_nobody_is_asked_for_a_password(self):
        for name in ('ADMIN', 'DATABASE', 'RABBIT', 'SERVICE'):
            self.assertEqual('secret', self.values[f'{name}_PASSWORD'])


class ContainersTest(oslotest_base.BaseTestCase):

    def test_only_where_the_kernel_has_budgets(self):
        """sched_deadline is for virtual machines."""
        values = localrc('sample-lxc')
        self.assertEqual('lxc', values['LIBVIRT_TYPE'])
        self.assertNotIn('NOVA_RT_KERNEL_INTERFACE', values)


class DevStackTest(testscenarios.WithScenarios, oslotest_base.BaseTestCase):
    """With a checkout of DevStack in DEVSTACK_DIR."""

    scenarios = SampleTest.scenarios

    def setUp(self):
        super().setUp()
        if not DEVSTACK:
            self.skipTest('DEVSTACK_DIR names no checkout of DevStack')
        self.path = SAMPLES / f'local.conf.{self.name}'

    def test_the_message_bus_is_found(self):
        # Of a controller without RABBIT_HOST it is this host.
        done = subprocess.run(
            ['bash', '-c', _URL.format(devstack=DEVSTACK, path=self.path)],
            text=True, capture_output=True, env={
                'PATH': os.environ['PATH'], 'TOP_DIR': DEVSTACK,
                'RABBIT_USERID': 'stackrabbit',
                'ENABLED_SERVICES': 'rabbit,n-api'})
        address = {'sample-compute': '192.0.2.10'}.get(self.name, '')
        self.assertEqual(f'rabbit://stackrabbit:secret@{address}:5672/',
                         done.stdout.strip(), done.stderr)

    def test_devstack_knows_what_is_set(self):
        settings = ''.join(
            path.read_text(errors='replace') for path in (
                *map(base.pathlib.Path(DEVSTACK).joinpath,
                     ('stackrc', 'stack.sh', 'openrc')),
                *base.pathlib.Path(DEVSTACK, 'lib').rglob('*'),
                SAMPLES / 'settings') if path.is_file())
        for name in localrc(self.name):
            # The one of Tacker's own plugin.
            if name != 'TACKER_MODE':
                self.assertIn(f'${{{name}', settings.replace(
                    f'${name}', f'${{{name}'))
