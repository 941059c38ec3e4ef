# SPDX-License-Identifier: Apache-2.0

"""Tests which reservation a VDU has, and from where.

The messages of what is refused are in tosca-samples/invalid.
"""

import subprocess
import sys

from oslotest import base

from nova_rt.rules import reservation
from tacker_rt import exception
from tacker_rt.vnfd import descriptor
from tacker_rt.vnfd import topology
from tests.unit.tacker_rt import samples

RUNTIME, PERIOD = reservation.KEYS
STRINGS = samples.hints('60000', '100000')
INTEGERS = samples.hints(60_000, 100_000)
POLICY = {'runtime_us': 60_000, 'period_us': 100_000}

_PURE = """
import sys
from tacker_rt.vnfd import descriptor
print([name for name in sys.modules if name.split('.')[0] in (
    'nova', 'oslo_config', 'toscaparser', 'translator', 'tacker', 'numpy')])
"""


class VnfdTest(base.BaseTestCase):

    def read(self, template, **kwargs):
        return descriptor.read_vdus(template, where='f', **kwargs)['VDU1']

    def refused(self, template, text, **kwargs):
        error = self.assertRaises(exception.InvalidVnfd, self.read, template,
                                  **kwargs)
        self.assertEqual(text, str(error))

    def request(self, **values):
        return {'nfv': {'VDU': {'VDU1': {
            f'cpu.rt_{key}': value for key, value in values.items()}}}}


class SourceTest(VnfdTest):

    def test_requirements(self):
        vdu = self.read(samples.sol001(STRINGS))
        self.assertEqual(
            descriptor.Vdu('VDU1', INTEGERS, descriptor.Source.REQUIREMENTS,
                           None, {}, descriptor.Carrier.HINTS), vdu)
        self.assertEqual(reservation.Reservation(60_000, 100_000),
                         vdu.reservation)

    def test_allocation(self):
        for values in (STRINGS, INTEGERS):
            vdu = self.read(samples.legacy(values))
            self.assertEqual((INTEGERS, descriptor.Source.ALLOCATION),
                             (vdu.hints, vdu.source))

    def test_policy(self):
        vdu = self.read(samples.sol001(policies=[samples.policy(POLICY)]))
        self.assertEqual((INTEGERS, descriptor.Source.POLICY),
                         (vdu.hints, vdu.source))

    def test_one_mapping_of_policies(self):
        vdu = self.read(samples.sol001(policies=samples.policy(POLICY)))
        self.assertEqual(INTEGERS, vdu.hints)

    def test_flavor(self):
        template = samples.legacy()
        samples.node(template)['properties'] = {'flavor': 'flavor_rt1'}
        vdu = self.read(template)
        self.assertEqual(({}, descriptor.Source.FLAVOR, 'flavor_rt1', None),
                         (vdu.hints, vdu.source, vdu.flavor,
                          vdu.reservation))

    def test_flavor_of_sol001(self):
        template = samples.sol001()
        samples.properties(template)['requested_additional_capabilities'] = {
            'properties': {
                'requested_additional_capability_name': 'flavor_rt1'}}
        self.assertEqual('flavor_rt1', self.read(template).flavor)

    def test_flavor_from_an_input(self):
        template = samples.legacy(inputs={'which': {'type': 'string'}})
        samples.node(template)['properties'] = {
            'flavor': {'get_input': 'which'}}
        self.assertEqual('{get_input: which}', self.read(template).flavor)
        self.assertEqual('f1', self.read(template, inputs={'which': 'f1'}
                                         ).flavor)

    def test_two_flavors(self):
        template = samples.sol001()
        samples.properties(template)['requested_additional_capabilities'] = {
            'properties': {'requested_additional_capability_name': 'a'}}
        samples.node(template)['properties'] = {'flavor': 'b'}
        self.refused(template, 'f: VDU VDU1: '
                     "requested_additional_capability_name='a': properties "
                     "names another "
                     'flavor; keep one of the two.')

    def test_flavor_that_is_no_name(self):
        template = samples.legacy()
        samples.node(template)['properties'] = {'flavor': 5}
        self.refused(template, 'f: VDU VDU1: flavor=5: the value must be the '
                     'name of a flavor; put the name in quotes.')

    def test_nothing(self):
        vdu = self.read(samples.sol001())
        self.assertEqual(({}, None, None), (vdu.hints, vdu.source,
                                            vdu.reservation))

    def test_other_requirements_are_not_ours(self):
        self.assertEqual({}, self.read(samples.sol001(
            {'cpu.model': 'x', 'hyperthreading': 'off'})).hints)

    def test_derived_type(self):
        template = samples.sol001(STRINGS)
        samples.node(template)['type'] = 'company.Vdu'
        template['node_types'] = {
            'company.Vdu': {'derived_from': 'company.Base'},
            'company.Base': {'derived_from': topology.SOL001_VDU}}
        self.assertEqual(INTEGERS, self.read(template).hints)

    def test_types_in_a_circle(self):
        template = samples.sol001()
        samples.node(template)['type'] = 'a'
        template['node_types'] = {'a': {'derived_from': 'b'},
                                  'b': {'derived_from': 'a'}}
        self.assertEqual({}, descriptor.read_vdus(template, where='f'))


class PrecedenceTest(VnfdTest):

    def test_flavor_is_the_weakest(self):
        template = samples.legacy(INTEGERS)
        samples.node(template)['properties'] = {'flavor': 'flavor_rt1'}
        vdu = self.read(template)
        self.assertEqual(
            (INTEGERS, descriptor.Source.ALLOCATION, 'flavor_rt1'),
            (vdu.hints, vdu.source, vdu.flavor))

    def test_one_key_over_a_named_flavor(self):
        """Paper, section 5: the runtime is overridden, the period stays."""
        template = samples.legacy({RUNTIME: 120_000})
        samples.node(template)['properties'] = {'flavor': 'flavor_rt1'}
        vdu = self.read(template)
        self.assertEqual(({RUNTIME: 120_000}, None),
                         (vdu.hints, vdu.reservation))

    def test_equal_requirements_and_allocation(self):
        template = samples.sol001(STRINGS)
        samples.node(template)['capabilities']['nfv_compute'] = {
            'properties': {'cpu_allocation': INTEGERS}}
        self.assertEqual(descriptor.Source.REQUIREMENTS,
                         self.read(template).source)

    def test_policy_over_requirements(self):
        vdu = self.read(samples.sol001(STRINGS, policies=[
            samples.policy({**POLICY, 'runtime_us': 5_000})]))
        self.assertEqual(
            (samples.hints(5_000, 100_000), descriptor.Source.POLICY),
            (vdu.hints, vdu.source))

    def test_request_over_policy(self):
        vdu = self.read(
            samples.sol001(STRINGS, policies=[samples.policy(POLICY)]),
            request=self.request(runtime_us='70000'))
        self.assertEqual((samples.hints(70_000, 100_000),
                          descriptor.Source.REQUEST), (vdu.hints, vdu.source))

    def test_request_above_the_period(self):
        self.refused(
            samples.sol001(STRINGS),
            'additionalParams: VDU VDU1: cpu.rt_runtime_us=200000: it is '
            'more than the period of 100000; give at most the period.',
            request=self.request(runtime_us=200_000))

    def test_bad_request(self):
        self.refused(
            samples.sol001(STRINGS),
            "additionalParams: VDU VDU1: cpu.rt_runtime_us='x': it must be a "
            'positive whole number of microseconds; give for example 100000 '
            'for 100 ms.', request=self.request(runtime_us='x'))

    def test_request_for_another_vdu(self):
        request = {'nfv': {'VDU': {'VDU_1': samples.hints(1000, 2000)}}}
        self.refused(samples.sol001(), 'additionalParams: VDU VDU_1: the '
                     'VNFD has no such VDU; did you mean '
                     'VDU1?', request=request)

    def test_request_without_ours(self):
        request = {'nfv': {'VDU': {
            'VDU1-0': {'computeFlavourId': 'x'}, 'VDU2': None}}, 'x': 1}
        self.assertEqual(INTEGERS, self.read(samples.sol001(STRINGS),
                                             request=request).hints)

    def test_a_weaker_statement_must_be_right_too(self):
        self.refused(
            samples.sol001(samples.hints('5', '4'),
                           policies=[samples.policy(POLICY)]),
            'f: VDU VDU1: cpu.rt_runtime_us=5: it is more than the period '
            'of 4; give at most the period.')

    def test_carrier(self):
        template = samples.sol001(STRINGS)
        self.assertEqual(descriptor.Carrier.HINTS,
                         self.read(template).carrier)
        for carrier in descriptor.Carrier:
            self.assertEqual(carrier, self.read(
                template, request=self.request(carrier=str(carrier))).carrier)

    def test_wrong_carrier(self):
        self.refused(
            samples.sol001(STRINGS), "additionalParams: VDU VDU1: "
            "cpu.rt_carrier='flavour': the value is not a carrier; did you "
            'mean flavor?', request=self.request(carrier='flavour'))

    def test_carrier_of_a_named_flavor(self):
        template = samples.legacy({RUNTIME: 60_000})
        samples.node(template)['properties'] = {'flavor': 'flavor_rt1'}
        self.refused(
            template, "additionalParams: VDU VDU1: cpu.rt_carrier='flavor': "
            'the VDU names the flavor flavor_rt1, so its reservation cannot '
            'be in another flavor; use the carrier hints, or name no flavor.',
            request=self.request(carrier='flavor'))

    def test_containers_of_kubernetes(self):
        template = samples.sol001(policies=[{'p': {
            'type': 'tacker_rt.policies.CpuReservation', 'targets': ['app'],
            'properties': POLICY}}])
        template['topology_template']['node_templates']['app'] = {
            'type': 'tosca.nodes.nfv.Vdu.OsContainer',
            'properties': dict(STRINGS)}
        _, found = descriptor.examine({'f': template})
        end = ('containers of Kubernetes cannot have a reservation; remove '
               'this value.')
        self.assertEqual(
            [f"f: policy p: targets='app': {end}",
             *(f"f: {key}={value!r}: app: {end}"
               for key, value in STRINGS.items())], list(map(str, found)))

    def test_carrier_in_a_descriptor(self):
        """The carrier depends on the cloud, not on the VNF."""
        carried = {'cpu.rt_carrier': 'flavor'}
        elsewhere = samples.sol001(STRINGS)
        samples.node(elsewhere)['properties'] = carried
        for template, key in (
                (samples.sol001({**STRINGS, **carried}), 'cpu.rt_carrier'),
                (samples.legacy({**INTEGERS, **carried}), 'cpu.rt_carrier'),
                (elsewhere, 'cpu.rt_carrier'),
                (samples.sol001(policies=[samples.policy(
                    {**POLICY, 'carrier': 'flavor'})]), 'carrier')):
            where = 'policy reserved: ' if key == 'carrier' else ''
            self.refused(
                template, f"f: VDU VDU1: {where}{key}='flavor': the "
                'carrier depends on the cloud, not on the VNF; remove the '
                'key, and give cpu.rt_carrier in additionalParams of the '
                'request.')

    def test_carrier_alone_is_no_source(self):
        vdu = self.read(samples.sol001(STRINGS),
                        request=self.request(carrier='flavor'))
        self.assertEqual(
            (descriptor.Source.REQUIREMENTS, descriptor.Carrier.FLAVOR),
            (vdu.source, vdu.carrier))


class InputTest(VnfdTest):

    def setUp(self):
        super().setUp()
        self.values = {RUNTIME: {'get_input': 'rt'}, PERIOD: '100000'}

    def template(self, **declared):
        return samples.sol001(self.values, inputs={'rt': declared})

    def test_given(self):
        for value in (70_000, '70000'):
            vdu = self.read(self.template(default=1), inputs={'rt': value})
            self.assertEqual(70_000, vdu.hints[RUNTIME])

    def test_default(self):
        self.assertEqual(70_000, self.read(self.template(default=70_000)
                                           ).hints[RUNTIME])

    def test_open(self):
        vdu = self.read(self.template(type='integer'))
        self.assertEqual((descriptor.Input('rt'), None),
                         (vdu.hints[RUNTIME], vdu.reservation))

    def test_not_declared(self):
        self.refused(samples.sol001(self.values),
                     "f: VDU VDU1: cpu.rt_runtime_us={'get_input': 'rt'}: "
                     'the template has no such input; remove it.')

    def test_more_than_an_input(self):
        self.values[RUNTIME]['default'] = 5
        self.refused(self.template(default=1), "f: VDU VDU1: "
                     "cpu.rt_runtime_us={'get_input': 'rt', 'default': 5}: "
                     "this "
                     'is neither a value nor the name of an input; give the '
                     'value, or {get_input: NAME}.')

    def test_bad_value(self):
        self.refused(self.template(), 'f: VDU VDU1: cpu.rt_runtime_us=[1]: '
                     'the input rt must have a single value; give a number '
                     'or a string.', inputs={'rt': [1]})

    def test_may_be_named_like_the_key(self):
        template = samples.sol001(
            {RUNTIME: {'get_input': RUNTIME}, PERIOD: '100000'},
            inputs={RUNTIME: {'default': 5_000}})
        self.assertEqual(5_000, self.read(template).hints[RUNTIME])

    def test_unknown_where_it_must_be_known(self):
        self.refused(
            samples.legacy({'socket_count': {'get_input': 'n'}},
                           inputs={'n': {}}),
            "f: VDU VDU1: socket_count={'get_input': 'n'}: the input has no "
            'value; give the input a default.')


class NameTest(VnfdTest):

    def examine(self, template):
        vdus, found = descriptor.examine({'f': template})
        return vdus, [str(one) for one in found]

    def test_long_names_are_kept(self):
        template = samples.sol001(
            {RUNTIME: {'get_input': 'i' * 100}, PERIOD: '100000'},
            inputs={'i' * 100: {'default': 5_000}, 'i' * 80: None})
        nodes = template['topology_template']['node_templates']
        nodes['V' * 100] = nodes.pop('VDU1')
        vdus, found = self.examine(template)
        self.assertEqual([], found)
        self.assertEqual(5_000, vdus['V' * 100].hints[RUNTIME])

    def test_names_that_are_no_text(self):
        template = samples.sol001(STRINGS)
        nodes = template['topology_template']['node_templates']
        nodes[5] = nodes.pop('VDU1')
        self.assertIn("the name must be a string; put the name in quotes.",
                      self.examine(template)[1][0])

    def test_names_in_lines_of_their_own(self):
        template = samples.sol001({RUNTIME: 'x', PERIOD: '5'})
        nodes = template['topology_template']['node_templates']
        nodes['a\nb'] = nodes.pop('VDU1')
        self.assertTrue(self.examine(template)[1][0].startswith(
            r"f: VDU 'a\nb': cpu.rt_runtime_us='x': "))

    def test_two_policies_of_one_name(self):
        _, found = self.examine(samples.sol001(policies=[
            samples.policy(POLICY),
            samples.policy({**POLICY, 'runtime_us': 5})]))
        self.assertEqual(['f: VDU VDU1: policy reserved: the policy reserved '
                          'also targets this VDU; keep one of the two '
                          'policies.'], found)

    def test_policies_that_are_nearly_ours(self):
        for kind in ('tacker_rt.CpuReservation', 'company.Reservation'):
            policy = samples.policy(POLICY)
            policy['reserved']['type'] = kind
            template = samples.sol001(policies=[policy])
            template['policy_types'] = {'company.Reservation': {
                'derived_from': 'tacker_rt.policies.CpuReservation'}}
            self.assertIn(f"policy reserved: type='{kind}': tacker_rt has no "
                          "such "
                          'policy; ', self.examine(template)[1][0])

    def test_misspelt_sections(self):
        template = samples.sol001()
        template['topology_templates'] = {}
        template['topology_template']['policy'] = []
        self.assertEqual(
            ['f: topology_templates: a service template has no such section; '
             'did you mean topology_template?',
             'f: policy: a topology_template has no such section; did you '
             'mean policies?'], self.examine(template)[1])

    def test_half_a_pair_of_characters(self):
        """Python's own YAML parser reads them."""
        template = samples.sol001(samples.hints('\ud83d', '5'))
        samples.properties(template)['compute_requirements'] = {
            'nova_extra_specs': '\ud83d'}
        self.assertIn(r"cpu.rt_runtime_us='\ud83d': ",
                      self.examine(template)[1][0])

    def test_input_that_is_no_mapping(self):
        _, found = self.examine(samples.sol001(inputs={'rt': [1]}))
        self.assertEqual(['f: inputs.rt=[1]: an input must be a mapping; '
                          'indent the type and the default of the input below '
                          'its name.'], found)


class AllocationTest(VnfdTest):

    def specs(self, **allocation):
        return self.read(samples.legacy(allocation)).extra_specs

    def test_topology(self):
        self.assertEqual(
            {'hw:cpu_sockets': '2', 'hw:cpu_cores': '4',
             'hw:cpu_threads': '1'},
            self.specs(socket_count=2, core_count='4', thread_count=1))

    def test_policies(self):
        self.assertEqual({'hw:cpu_policy': 'shared'},
                         self.specs(cpu_affinity='shared'))
        for word, meaning in (('avoid', 'isolate'), ('separate', 'isolate'),
                              ('isolate', 'isolate'), ('prefer', 'prefer')):
            self.assertEqual(
                {'hw:cpu_policy': 'dedicated',
                 'hw:cpu_thread_policy': meaning},
                self.specs(cpu_affinity='dedicated', thread_allocation=word))

    def test_with_a_reservation(self):
        vdu = self.read(samples.legacy({**INTEGERS, 'cpu_affinity': 'shared',
                                        'core_count': 4}))
        self.assertEqual({'hw:cpu_policy': 'shared', 'hw:cpu_cores': '4'},
                         vdu.extra_specs)


class PackageTest(base.BaseTestCase):

    def flavour(self, name, runtime):
        return samples.sol001(
            samples.hints(runtime, '100000'),
            substitution_mappings={'properties': {'flavour_id': name}})

    def test_flavours_have_vdus_of_the_same_name(self):
        files = {'a': self.flavour('small', '20000'),
                 'b': self.flavour('large', '80000'), 'types': {}}
        for name, runtime in (('small', 20_000), ('large', 80_000)):
            vdus = descriptor.read_package(files, flavour=name)
            self.assertEqual(runtime, vdus['VDU1'].hints[RUNTIME])

    def test_one_flavour_has_a_vdu_twice(self):
        files = {'a': samples.sol001(), 'b': samples.sol001()}
        error = self.assertRaises(
            exception.InvalidVnfd, descriptor.read_package, files)
        self.assertEqual('b: VDU VDU1: a also has a VDU of this name; rename '
                         'one of the two.', str(error))

    def test_policy_in_another_file(self):
        files = {'vdus': self.flavour('small', '20000'),
                 'policies': {'topology_template': {
                     'policies': [samples.policy(POLICY)]}}}
        for flavour in (None, 'small'):
            vdus = descriptor.read_package(files, flavour=flavour)
            self.assertEqual(descriptor.Source.POLICY, vdus['VDU1'].source)

    def with_capability(self, parameters, requirements=None,
                        name='reservation'):
        template = samples.sol001(requirements)
        samples.properties(template)['requested_additional_capabilities'] = {
            name: {'requested_additional_capability_name': 'reserved',
                   'support_mandatory': True,
                   'target_performance_parameters': parameters}}
        return descriptor.examine({'f': template})

    def test_parameters_of_a_capability(self):
        """The capability may have any name; a VNFM may refuse it."""
        said = samples.hints('60000', '100000')
        for name in ('reservation', 'properties'):
            vdus, found = self.with_capability({'other': 'x', **said},
                                               name=name)
            self.assertEqual([], found)
            self.assertEqual(samples.hints(60000, 100000),
                             vdus['VDU1'].hints)
            self.assertEqual('target_performance_parameters',
                             vdus['VDU1'].source)
        vdus, found = self.with_capability(said, said)
        self.assertEqual([], found)
        self.assertEqual('vdu_cpu_requirements', vdus['VDU1'].source)

    def test_wrong_parameters_of_a_capability(self):
        for parameters, requirements, text in (
                (samples.hints('50000', '100000'),
                 samples.hints('60000', '100000'),
                 "cpu.rt_runtime_us=50000: target_performance_parameters "
                 'contradicts vdu_cpu_requirements; keep one of the two.'),
                ({**samples.hints('50000', '100000'),
                  'cpu.rt_carrier': 'flavor'}, None,
                 "cpu.rt_carrier='flavor': the carrier depends on the cloud, "
                 'not on the VNF; remove the key, and give cpu.rt_carrier in '
                 'additionalParams of the request.'),
                (samples.hints(50000, '100000'), None,
                 "cpu.rt_runtime_us=50000: the value must be a string in "
                 "SOL001; write '50000'.")):
            _, found = self.with_capability(parameters, requirements)
            self.assertEqual([f'f: VDU VDU1: {text}'], list(map(str, found)))

    def test_inputs_of_each_file(self):
        """Another file may declare the same name otherwise."""
        asks = samples.hints({'get_input': 'x'}, '100000')
        files = {
            'a': samples.sol001(asks, inputs={'x': {'default': '1000'}}),
            'b': {'topology_template': {'inputs': {
                'x': {'default': '2000'}, 'y': None}}}}
        vdus, found = descriptor.examine(files)
        self.assertEqual([], found)
        self.assertEqual(samples.hints(1000, 100000), vdus['VDU1'].hints)
        asks['cpu.rt_runtime_us'] = {'get_input': 'y'}
        self.assertEqual(
            ["a: VDU VDU1: cpu.rt_runtime_us={'get_input': 'y'}: the "
             "template has no "
             'such input; use x.'],
            list(map(str, descriptor.examine(files)[1])))

    def test_every_problem(self):
        template = samples.sol001(
            samples.hints('x', 'y'), policies=[
                samples.policy({**POLICY, 'x': 1}), 5])
        _, found = descriptor.examine({'f': template})
        self.assertEqual(
            [('policies', '5'), ('x', '1'), (RUNTIME, "'x'"),
             (PERIOD, "'y'")], [(one.key, one.value) for one in found])

    def test_pure(self):
        done = subprocess.run([sys.executable, '-c', _PURE], check=True,
                              capture_output=True, text=True)
        self.assertEqual('[]\n', done.stdout)
