# SPDX-License-Identifier: Apache-2.0

"""Tests the samples of local.conf, with the plugin and with DevStack."""

import json
import os
import re
import subprocess

from oslotest import base as oslotest_base
import testscenarios

from tests.devstack import base

DEVSTACK = os.environ.get('DEVSTACK_DIR')
SAMPLES = base.PROJECT / 'devstack'
NAMES = ('sample', 'sample-compute', 'sample-lxc', 'sample-tacker')
#: Repositories name their own branch, and this project has no "master".
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
    """Returns the settings of the sample, by variable."""
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
        self.assertIsNone(self.nova_conf().nova_rt.kernel_interface)

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


class VirtualMachinesTest(testscenarios.WithScenarios,
                          oslotest_base.BaseTestCase):

    scenarios = [(name, {'name': name}) for name in NAMES
                 if name != 'sample-lxc']

    def test_kvm_and_the_interface_of_the_kernel(self):
        """An interface that is named would be wrong on another kernel."""
        values = localrc(self.name)
        self.assertEqual('kvm', values['LIBVIRT_TYPE'])
        self.assertNotIn('NOVA_RT_KERNEL_INTERFACE', values)


class BranchTest(oslotest_base.BaseTestCase):
    """Plugins of OpenStack are on the branch of this DevStack."""

    def test_heat_and_tacker(self):
        path = SAMPLES / 'local.conf.sample-tacker'
        done = subprocess.run(
            ['bash', '-c', 'enable_plugin() { echo "$1 $3"; }; eval "$('
             f'grep ^enable_plugin {path})"'], check=True, text=True,
            stdout=subprocess.PIPE, env={
                'PATH': os.environ['PATH'], 'TARGET_BRANCH': 'stable/2026.1'})
        self.assertEqual(['nova-rt main', 'heat stable/2026.1',
                          'tacker stable/2026.1'], done.stdout.splitlines())

    def test_devstack_has_set_it_before(self):
        if not DEVSTACK:
            self.skipTest('DEVSTACK_DIR names no checkout of DevStack')
        text = base.pathlib.Path(DEVSTACK, 'stackrc').read_text()
        self.assertLess(text.index('\nTARGET_BRANCH='),
                        text.index('source $RC_DIR/.localrc.auto'))


class VnfTest(oslotest_base.BaseTestCase):
    """The sample of a VNF, for the DevStack of sample-tacker."""

    SAMPLE = base.PROJECT / 'tosca-samples' / 'devstack'

    def setUp(self):
        super().setUp()
        self.values = localrc('sample-tacker')
        self.request = json.loads(
            (self.SAMPLE / 'requests' / 'instantiate.json').read_text())

    def test_the_request_names_this_devstack(self):
        (vim,) = self.request['vimConnectionInfo'].values()
        self.assertEqual(f'http://{self.values["HOST_IP"]}/identity/v3',
                         vim['interfaceInfo']['endpoint'])
        self.assertEqual(self.values['ADMIN_PASSWORD'],
                         vim['accessInfo']['password'])

    def test_hints_count_with_the_flavors_of_devstack(self):
        self.assertEqual(('any', 'True'), (
            self.values['NOVA_RT_HINT_OVERRIDE'],
            self.values['NOVA_RT_HINTS_ON_PLAIN_FLAVORS']))

    def test_the_page_shows_the_request(self):
        page = (base.PROJECT / 'doc/source/install/devstack.rst').read_text()
        self.assertIn('tosca-samples/devstack/requests/instantiate.json',
                      page)

    def test_image_and_flavor_are_those_of_devstack(self):
        if not DEVSTACK:
            self.skipTest('DEVSTACK_DIR names no checkout of DevStack')
        stackrc = base.pathlib.Path(DEVSTACK, 'stackrc').read_text()
        version = re.search(r'CIRROS_VERSION:-"([0-9.]+)"', stackrc)[1]
        vdu = next(self.SAMPLE.rglob('VDU1.yaml')).read_text()
        self.assertIn(f'image: cirros-{version}-x86_64-disk\n', vdu)
        vnfd = next(self.SAMPLE.rglob('vnfd.yaml')).read_text()
        flavor = re.search(r'capability_name: (?!cpu-)(\S+)', vnfd)[1]
        self.assertRegex(base.pathlib.Path(DEVSTACK, 'lib/nova').read_text(),
                         rf'flavor create .* {flavor}\n')


class PageTest(oslotest_base.BaseTestCase):

    def test_every_setting_is_on_the_page(self):
        """local.conf may set what settings and lib/nova-rt name."""
        page = (base.PROJECT / 'doc/source/install/devstack.rst').read_text()
        text = (SAMPLES / 'settings').read_text() + (
            SAMPLES / 'lib' / 'nova-rt').read_text()
        found = set(re.findall(r'^(NOVA_RT_\w+)=\$\{\1:-', text,
                               re.MULTILINE))
        self.assertIn('NOVA_RT_FLAVORS', found)
        self.assertEqual(set(), {name for name in found
                                 if f'``{name}``' not in page})


class DevStackTest(testscenarios.WithScenarios, oslotest_base.BaseTestCase):
    """Tests that need a checkout of DevStack in DEVSTACK_DIR."""

    scenarios = SampleTest.scenarios

    def setUp(self):
        super().setUp()
        if not DEVSTACK:
            self.skipTest('DEVSTACK_DIR names no checkout of DevStack')
        self.path = SAMPLES / f'local.conf.{self.name}'

    def test_the_message_bus_is_found(self):
        # Without RABBIT_HOST, the controller would be this host.
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
            # The options of Tacker's own plugin.
            if name != 'TACKER_MODE':
                self.assertIn(f'${{{name}', settings.replace(
                    f'${name}', f'${{{name}'))
