# SPDX-License-Identifier: Apache-2.0

import importlib.metadata
import shutil

from oslo_rootwrap import wrapper

from nova_rt.services import conf as rt_conf
from rt_models.interference import document
from tests.devstack import base

RT_FILTER = 'nova_rt.scheduler.filters.RTShareFilter'
RT_WEIGHERS = [f'nova_rt.scheduler.weights.RT{name}Weigher'
               for name in ('Share', 'Interference', 'CHR')]
ALL_FILTERS = 'nova.scheduler.filters.all_filters'
DRIVER = 'nova_rt.RTLibvirtDriver'
ROOTWRAP = 'rootwrap.d/nova-rt.filters'

#: For each option, a valid value that is not the default.
VALUES = {
    'hint_override': 'any', 'hints_on_plain_flavors': 'True',
    'max_share': '0.5', 'min_runtime_us': '200',
    'min_period_us': '2000', 'max_period_us': '500000',
    'rt_share_weight_multiplier': '-2.0',
    'interference_weight_multiplier': '3.0', 'chr_weight_multiplier': '2.0',
    'interference_matrix': document.SHIPPED,
    'interference_matrix_reserved': document.SHIPPED,
    'hcbs_scheduler_available': 'False', 'cpu_cap': '0.7',
    'packing_policy': 'best_fit', 'defrag_on_reject': 'plan',
    'defrag_on_accept': 'plan', 'defrag_max_moves': '3', 'smt': 'core',
    'rt_cpus': '2-15,^8',
    'emulator_cpus': '0-1', 'emulator_max_share': '0.5',
    'kernel_interface': 'sched_deadline', 'guest_policy': 'fifo',
    'guest_priority': '20', 'guest_priority_max': '40',
    'min_divided_runtime_us': '150',
    'drop_capabilities': "['mknod']", 'report_file': '/run/nova-rt.json'}
TENANT = {'hint_override', 'hints_on_plain_flavors', 'max_share',
          'min_runtime_us', 'min_period_us', 'max_period_us'}
WEIGHTS = {'rt_share_weight_multiplier', 'interference_weight_multiplier',
           'chr_weight_multiplier'}
SCHEDULER = TENANT | WEIGHTS | {'interference_matrix',
                                'interference_matrix_reserved'}
COMPUTE = set(VALUES) - SCHEDULER | TENANT


def variables():
    """Returns the settings that lead to VALUES."""
    return {f'NOVA_RT_{name.upper()}': value.strip("[']")
            for name, value in VALUES.items()}


class OneNodeTest(base.DevStackTestCase):
    """Tests with all services on one node."""

    def setUp(self):
        super().setUp()
        self.configure(*base.CONTROLLER, *base.COMPUTE)

    def test_scheduler(self):
        self.run_plugin(*base.STACK)
        group = self.nova_conf().filter_scheduler
        self.assertEqual([ALL_FILTERS, RT_FILTER], group.available_filters)
        self.assertEqual([*base.FILTERS.split(','), 'RTShareFilter'],
                         group.enabled_filters)
        self.assertEqual(['nova.scheduler.weights.all_weighers',
                          *RT_WEIGHERS], group.weight_classes)

    def test_lists_of_another_plugin_are_kept(self):
        self.conf_file.write_text(
            '[filter_scheduler]\n'
            'available_filters = a.all\navailable_filters = b.One\n'
            'enabled_filters = One, Two\nweight_classes = a.Weigher\n')
        self.run_plugin('stack/post-config')
        group = self.nova_conf().filter_scheduler
        self.assertEqual(['a.all', 'b.One', RT_FILTER],
                         group.available_filters)
        self.assertEqual(['One', 'Two', 'RTShareFilter'],
                         group.enabled_filters)
        self.assertEqual(['a.Weigher', *RT_WEIGHERS], group.weight_classes)

    def test_compute(self):
        self.run_plugin(*base.STACK)
        self.assertEqual(DRIVER, self.nova_conf().compute_driver)

    def test_api(self):
        before = base.PASTE.read_text()
        self.run_plugin(*base.STACK)
        paste = self.paste()
        pipelines = [
            value.split() for section in paste.sections()
            for value in paste[section].values()
            if value.endswith(' osapi_compute_app_v21')]
        self.assertEqual(before.count(' osapi_compute_app_v21\n'),
                         len(pipelines))
        for pipeline in pipelines:
            self.assertEqual(['nova_rt', 'osapi_compute_app_v21'],
                             pipeline[-2:])
        distribution, name = paste['filter:nova_rt']['use'].removeprefix(
            'egg:').split('#')
        found = importlib.metadata.distribution(distribution).entry_points
        self.assertEqual(
            1, len(found.select(group='paste.filter_factory', name=name)))

    def test_api_of_an_unknown_nova(self):
        self.paste_file.write_text('[pipeline:x]\npipeline = a b\n')
        error = self.run_plugin('stack/post-config', fails=True)
        self.assertIn('does not support this release of Nova', error)

    def test_rootwrap_lets_the_privileged_process_start(self):
        self.run_plugin(*base.STACK)
        filters = wrapper.load_filters([str(self.etc / 'rootwrap.d')])
        command = [
            'privsep-helper', '--config-file', '/etc/nova/nova-cpu.conf',
            '--privsep_context', 'nova_rt.privsep.cgroup_pctxt',
            '--privsep_sock_path', '/tmp/tmpabc/privsep.sock']
        self.assertTrue(any(each.match(command) for each in filters))

    def test_options(self):
        self.variables |= variables()
        self.run_plugin(*base.STACK)
        group = self.nova_conf().nova_rt
        self.assertEqual(VALUES, {name: str(group[name]) for name in VALUES})

    def test_there_is_a_setting_for_each_option(self):
        ((_, options),) = rt_conf.list_opts()
        self.assertEqual(VALUES.keys(), {option.name for option in options})

    def test_unset_options_keep_their_defaults(self):
        self.run_plugin(*base.STACK)
        self.assertNotIn('[nova_rt]', self.conf_file.read_text())

    def test_twice(self):
        self.run_plugin(*base.STACK)
        once = self.files()
        self.run_plugin(*base.STACK)
        self.assertEqual(once, self.files())

    def test_nothing_is_written_before_post_config(self):
        before = self.files()
        self.run_plugin('stack/pre-install', 'stack/install')
        self.assertEqual(before, self.files())

    def test_any_directory(self):
        self.plugin = self.root / 'called-otherwise'
        shutil.copytree(base.PROJECT / 'devstack', self.plugin / 'devstack')
        shutil.copytree(base.PROJECT / 'etc', self.plugin / 'etc')
        self.run_plugin(*base.STACK)
        self.assertEqual([f'setup_develop {self.plugin} compute,monitor'],
                         self.calls('setup_develop'))
        self.assertIn(ROOTWRAP, self.files())

    def test_another_hypervisor(self):
        self.variables['VIRT_DRIVER'] = 'fake'
        error = self.run_plugin('stack/pre-install', fails=True)
        self.assertIn('VIRT_DRIVER=fake', error)

    def test_later_checks(self):
        self.run_plugin(*base.STACK)
        self.assertEqual(
            [f'nova-rt-status --config-file {self.conf_file} upgrade check'],
            self.calls('nova-rt-status'))
        self.nova_rt_status(1)
        self.run_plugin('stack/test-config')

    def test_not_ready(self):
        for status in (2, 255):
            self.nova_rt_status(status)
            error = self.run_plugin('stack/test-config', fails=True)
            self.assertIn('nova-rt-status', error)


class SeveralNodesTest(base.DevStackTestCase):
    """Each node gets what its services need, and nothing else."""

    def all_options(self):
        self.variables |= variables()

    def written(self):
        group = self.nova_conf().nova_rt
        return {name for name, value in VALUES.items()
                if str(group[name]) == value}

    def test_compute(self):
        self.configure(*base.COMPUTE)
        self.all_options()
        self.run_plugin(*base.STACK)
        self.assertEqual(DRIVER, self.nova_conf().compute_driver)
        self.assertEqual(COMPUTE, self.written())
        self.assertEqual({'nova.conf', ROOTWRAP}, set(self.files()))
        text = self.conf_file.read_text()
        for word in ('RTShareFilter', 'weight_classes'):
            self.assertNotIn(word, text)
        self.assertEqual(1, len(self.calls('setup_develop')))
        self.assertEqual([], [call for call in self.calls('openstack')
                              if 'service list' not in call])
        self.assertEqual([], self.calls('nova-rt-status'))

    def test_controller(self):
        self.configure(*base.CONTROLLER)
        self.all_options()
        self.run_plugin(*base.STACK)
        self.assertNotEqual(DRIVER, self.nova_conf().compute_driver)
        self.assertEqual(SCHEDULER, self.written())
        self.assertIn('RTShareFilter',
                      self.nova_conf().filter_scheduler.enabled_filters)
        self.assertEqual({'nova.conf', 'api-paste.ini'}, set(self.files()))
        self.assertEqual(1, len(self.calls('openstack --os-region-name '
                                           'RegionOne flavor create')))

    def test_scheduler(self):
        self.configure('n-sch')
        self.run_plugin(*base.STACK)
        self.assertIn('RTShareFilter', self.conf_file.read_text())
        self.assertEqual({'nova.conf'}, set(self.files()))
        self.assertEqual([], self.calls('openstack'))

    def test_tacker(self):
        self.configure('tacker', 'tacker-conductor')
        self.run_plugin(*base.STACK)
        self.assertEqual([base.COMPILER,
                          f'setup_develop {base.PROJECT} tacker'],
                         self.calls())
        self.assertEqual({}, self.files())

    def test_nothing_of_ours(self):
        self.configure('key', 'n-cond', 'placement-api', 'h-eng')
        before = self.files()
        self.run_plugin(*base.STACK, 'unstack')
        self.assertEqual([], self.calls())
        self.assertEqual(before, self.files())


class MonitorTest(base.DevStackTestCase):
    """Tests the packages that build programs or draw graphs."""

    def installed(self, *services):
        self.configure(*services)
        self.run_plugin('stack/install')
        return self.calls()

    def test_compute(self):
        self.assertEqual(
            [base.COMPILER,
             f'setup_develop {base.PROJECT} compute,monitor'],
            self.installed(*base.COMPUTE))

    def test_all_in_one(self):
        self.assertEqual(
            [base.COMPILER,
             f'setup_develop {base.PROJECT} compute,monitor,tacker'],
            self.installed(*base.COMPUTE, 'n-api', 'n-sch', 'tacker'))

    def test_compute_of_another_distribution(self):
        self.variables['os_PACKAGE'] = 'rpm'
        self.assertEqual('install_package clang libbpf-devel libbpf',
                         self.installed(*base.COMPUTE)[0])

    def test_controller(self):
        self.assertEqual(
            [base.COMPILER, f'setup_develop {base.PROJECT} nova'],
            self.installed(*base.CONTROLLER))

    def test_service(self):
        """The service starts as root, which can load the programs."""
        self.configure(*base.COMPUTE, 'nova-rt-monitor')
        self.run_plugin('stack/extra')
        self.assertEqual(
            [f'run_process nova-rt-monitor {self.root}/nova-rt-monitor root'],
            self.calls())
        self.run_plugin('unstack')
        self.assertIn('stop_process nova-rt-monitor', self.calls())

    def test_service_is_not_asked_for(self):
        self.configure(*base.COMPUTE)
        self.run_plugin('stack/extra', 'unstack')
        self.assertEqual([], [call for call in self.calls()
                              if 'nova-rt-monitor' in call])


class ContainersTest(base.DevStackTestCase):
    """LIBVIRT_TYPE=lxc needs a driver that DevStack does not install."""

    def setUp(self):
        super().setUp()
        self.configure(*base.COMPUTE)
        self.variables['LIBVIRT_TYPE'] = 'lxc'

    def test_driver(self):
        self.run_plugin('stack/install')
        self.assertEqual(
            ['install_package libvirt-daemon-driver-lxc',
             'restart_service libvirtd'],
            self.calls()[2:])

    def test_driver_is_there(self):
        self.variables['PACKAGES'] = 'libvirt-daemon-driver-lxc'
        self.run_plugin('stack/install')
        self.assertEqual(2, len(self.calls()))

    def test_driver_of_another_distribution(self):
        self.variables['os_PACKAGE'] = 'rpm'
        self.run_plugin('stack/install')
        self.assertEqual(2, len(self.calls()))

    def test_virtual_machines(self):
        self.variables['LIBVIRT_TYPE'] = 'qemu'
        self.run_plugin('stack/install')
        self.assertEqual(2, len(self.calls()))
        self.assertEqual(([], []), self.maps())

    def maps(self):
        self.run_plugin('stack/pre-install', 'stack/post-config')
        group = self.nova_conf().libvirt
        return group.uid_maps, group.gid_maps

    def test_user_namespace(self):
        self.assertEqual((['0:1000000:65536'],) * 2, self.maps())
        self.variables['NOVA_RT_ID_MAPS'] = '0:5000:1000,1000:9000:10'
        self.assertEqual((['0:5000:1000', '1000:9000:10'],) * 2, self.maps())

    def test_no_user_namespace(self):
        self.variables['NOVA_RT_ID_MAPS'] = '-'
        self.assertEqual(([], []), self.maps())

    def test_controller(self):
        self.configure(*base.CONTROLLER)
        self.run_plugin('stack/install')
        self.assertEqual(1, len(self.calls('setup_develop')))


class FlavorsTest(base.DevStackTestCase):

    def setUp(self):
        super().setUp()
        self.configure(*base.CONTROLLER)

    def want(self, flavors):
        self.variables['NOVA_RT_FLAVORS'] = flavors

    def test_default(self):
        self.run_plugin('stack/extra')
        self.assertEqual({'flavor_rt1': properties(100000, 200000)},
                         self.flavors())
        (created,) = [call for call in self.calls() if 'flavor create' in call]
        self.assertIn(' --vcpus 1 --ram 512 --disk 1 ', created)

    def test_those_that_are_there(self):
        self.has_flavors(a=properties(1000, 2000), tiny={})
        self.want('a:1:64:1:1500:2000 m1:2:64:0:1000:2000')
        self.run_plugin('stack/pre-install', 'stack/extra')
        self.assertEqual({'a': properties(1000, 2000), 'tiny': {},
                          'm1': properties(1000, 2000)}, self.flavors())

    def test_one_that_is_there_without_a_reservation(self):
        """Servers of this flavor would be ordinary servers."""
        for found in ({}, {reserved('runtime'): '1000'}):
            self.has_flavors(a=found)
            self.want('a:1:64:1:1000:2000')
            error = self.run_plugin('stack/extra', fails=True)
            self.assertIn('The flavor a exists without a reservation',
                          error)
            self.assertEqual({'a': found}, self.flavors())

    def test_nova_refuses_it(self):
        """A flavor without the reservation would be left."""
        for bad in ('300000:200000', '1:2', '100000:5000000'):
            self.want(f'a:1:64:1:{bad}')
            error = self.run_plugin('stack/extra', fails=True)
            self.assertIn('400: Invalid flavor extra spec', error)
            self.assertIn('The flavor a has no reservation', error)
            self.assertEqual({}, self.flavors())

    def test_nova_does_not_keep_it(self):
        """Another version of the client may lose the properties."""
        self.variables['FORGETS'] = 'yes'
        error = self.run_plugin('stack/extra', fails=True)
        self.assertIn('The flavor flavor_rt1 has no reservation', error)
        self.assertEqual({}, self.flavors())

    def test_refused_before_anything_is_started(self):
        """Flavors are checked after the installation, by the cloud's rules."""
        self.variables |= {'NOVA_RT_MAX_SHARE': '0.5',
                           'NOVA_RT_MIN_RUNTIME_US': '1000'}
        for bad in ('300000:200000', '500:2000', '1600:2000',
                    '1000:5000000'):
            self.want(f'b:1:64:1:1000:2000 a:1:64:1:{bad}')
            error = self.run_plugin('stack/install', fails=True)
            self.assertIn(f'NOVA_RT_FLAVORS=a:1:64:1:{bad}: Invalid flavor '
                          'extra spec hw:cpu.rt_', error)
            self.assertNotIn('b:1:64', error)

    def test_none(self):
        self.want('-')
        self.run_plugin('stack/pre-install', 'stack/install', 'stack/extra')
        self.assertEqual([], [call for call in self.calls()
                              if 'create' in call])

    def test_bad(self):
        for bad in ('a', 'a:1:64:1:10', 'a:1:64:1:10:x', ':1:64:1:10:20'):
            self.want(f'b:1:64:1:10:20 {bad}')
            error = self.run_plugin('stack/pre-install', fails=True)
            self.assertIn(f'NOVA_RT_FLAVORS contains {bad}, which', error)


def reserved(which):
    return f'hw:cpu.rt_{which}_us'


def properties(runtime, period):
    """Returns the properties of a flavor with a reservation."""
    return {reserved('runtime'): str(runtime), reserved('period'): str(period)}


class EndTest(base.DevStackTestCase):
    """unstack.sh and clean.sh."""

    LIST = ('openstack server list --all-projects --host compute1 '
            '-f value -c ID')
    URIS = ('lxc:///', 'qemu:///system')

    def setUp(self):
        super().setUp()
        self.configure(*base.COMPUTE)

    def after_the_servers(self):
        """Returns the calls after the servers, deleted or not."""
        return ['stop_process n-cpu',
                *(f'virsh -c {uri} list --all --name' for uri in self.URIS),
                f'nova-rt release --config-file {self.etc}/nova-cpu.conf']

    def test_servers(self):
        self.variables |= {'SERVERS': '111 222', 'OS_USERNAME': 'demo'}
        self.run_plugin('unstack')
        self.assertEqual(
            [self.LIST, 'openstack server delete --wait 111 222',
             *self.after_the_servers()], self.calls())

    def test_no_servers(self):
        self.run_plugin('unstack')
        self.assertEqual([self.LIST, *self.after_the_servers()],
                         self.calls())

    def test_controller_first(self):
        """The API has ended: the plugin ends guests and takes budgets."""
        self.variables |= {
            'SERVERS': '-', 'DOMAINS': ' '.join(
                f'{uri}/{name}' for uri in self.URIS
                for name in ('instance-00000001', 'mine'))}
        for kind in ('lxc', 'qemu', 'kvm'):
            self.variables['LIBVIRT_TYPE'] = kind
            (self.root / 'record').unlink(missing_ok=True)
            error = self.run_plugin('unstack')
            self.assertIn('did not delete all servers', error)
            self.assertEqual(
                [f'virsh -c {uri} {action} instance-00000001'
                 for uri in self.URIS for action in ('destroy', 'undefine')],
                [call for call in self.calls('virsh') if 'list' not in call])
            self.assertEqual(self.after_the_servers()[-1], self.calls()[-1])

    def test_nova_compute_is_stopped_before_its_guests(self):
        self.variables |= {'SERVERS': '-',
                           'DOMAINS': f'{self.URIS[1]}/instance-00000001'}
        self.run_plugin('unstack')
        calls = self.calls()
        self.assertLess(calls.index('stop_process n-cpu'), calls.index(
            f'virsh -c {self.URIS[1]} destroy instance-00000001'))

    def test_kernel_keeps_budgets(self):
        self.nova_rt(1)
        self.assertIn('The kernel keeps budgets', self.run_plugin('unstack'))

    def test_controller_holds_none(self):
        self.configure(*base.CONTROLLER)
        self.run_plugin('unstack')
        self.assertEqual([], self.calls())

    def test_configuration_is_left_to_devstack(self):
        self.run_plugin(*base.STACK)
        before = self.files()
        self.run_plugin('unstack')
        self.assertEqual(before, self.files())

    def test_clean(self):
        self.variables |= {'GLOBAL_VENV': 'False', 'DEVSTACK_VENV': '/venv'}
        self.run_plugin('clean')
        self.variables['GLOBAL_VENV'] = 'True'
        self.run_plugin('clean')
        self.assertEqual(['pip_uninstall nova-rt',
                          'pip_uninstall nova-rt from /venv'], self.calls())


class CommandsTest(base.DevStackTestCase):
    """Tests that the commands of operators are on PATH, like those of Nova."""

    def setUp(self):
        super().setUp()
        self.configure(*base.COMPUTE)

    def linked(self):
        return {path.name: str(path.readlink())
                for path in self.links.iterdir()}

    def test_all_that_are_installed(self):
        self.run_plugin('stack/install')
        scripts = importlib.metadata.distribution('nova-rt').entry_points
        # nova-rt-compute is not a command for operators.
        wanted = scripts.select(group='console_scripts').names - {
            'nova-rt-compute'}
        self.assertEqual(
            {name: f'{self.root}/venv/bin/{name}' for name in wanted},
            self.linked())

    def test_twice_and_clean(self):
        (self.links / 'nova-manage').symlink_to('/venv/bin/nova-manage')
        self.run_plugin('stack/install', 'stack/install', 'clean')
        self.assertEqual({'nova-manage': '/venv/bin/nova-manage'},
                         self.linked())

    def test_pip_put_them_on_path(self):
        self.variables['GLOBAL_VENV'] = 'False'
        self.run_plugin('stack/install')
        self.assertEqual({}, self.linked())


class SettingsTest(base.DevStackTestCase):
    """A bad value ends stack.sh before a service reads the value."""

    def test_bad(self):
        self.configure(*base.CONTROLLER)
        for name in VALUES.keys() - WEIGHTS - {'report_file'}:
            self.check(name, 'b,a d')
        self.check('cpu_cap', '2')
        self.check('guest_priority', '100')

    def check(self, name, value):
        variable = f'NOVA_RT_{name.upper()}'
        self.variables[variable] = value
        error = self.run_plugin('stack/install', fails=True)
        self.assertIn(f'{variable}={value}: ', error)
        self.assertIn('Correct the settings above', error)
        self.assertNotIn('Traceback', error)
        del self.variables[variable]

    def test_not_of_a_node_without_nova(self):
        self.configure('tacker')
        self.variables['NOVA_RT_CPU_CAP'] = 'x'
        self.run_plugin('stack/install')


class TestConfigTest(base.DevStackTestCase):
    """stack.sh says where reservations do not work."""

    def test_all_is_well(self):
        self.configure(*base.CONTROLLER, *base.COMPUTE)
        error = self.run_plugin('stack/test-config')
        self.assertEqual('', error)
        self.assertEqual([], self.calls('sleep'))
        self.assertIn(f'nova-rt doctor --config-file {self.etc}/nova-cpu.conf',
                      self.calls())

    def test_no_host_offers_any(self):
        self.variables |= {'PROVIDERS': '', 'NOVA_RT_TRIES': '3'}
        for services, waits in ((base.CONTROLLER, 0),
                                ((*base.CONTROLLER, *base.COMPUTE), 2)):
            self.configure(*services)
            error = self.run_plugin('stack/test-config')
            self.assertIn('No host offers reservations', error)
            self.assertIn('tells why', error)
            self.assertEqual(waits, len(self.calls('sleep')))

    def test_a_kernel_without_budgets(self):
        self.configure(*base.COMPUTE)
        self.nova_rt(2)
        error = self.run_plugin('stack/test-config')
        self.assertIn('This host has problems', error)
        self.nova_rt(1)
        self.assertEqual('', self.run_plugin('stack/test-config'))

    def test_nova_compute_refused_to_start(self):
        self.configure(*base.COMPUTE)
        self.variables |= {'COMPUTE_STATE': 'down', 'NOVA_RT_TRIES': '2'}
        error = self.run_plugin('stack/test-config')
        self.assertIn('nova-compute of this host is not up', error)

    def test_tempest(self):
        tempest = self.etc / 'tempest.conf'
        self.variables |= {'TEMPEST_CONFIG': tempest,
                           'NOVA_RT_HINT_OVERRIDE': 'none',
                           'NOVA_RT_HINTS_ON_PLAIN_FLAVORS': 'True'}
        self.configure(*base.CONTROLLER)
        self.run_plugin('stack/test-config')
        self.assertFalse(tempest.exists())
        self.configure(*base.CONTROLLER, 'tempest')
        self.run_plugin('stack/test-config')
        for line in ('hint_override = none', 'hints_on_plain_flavors = True'):
            self.assertIn(line, tempest.read_text())
