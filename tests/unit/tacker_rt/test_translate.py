# SPDX-License-Identifier: Apache-2.0

"""Tests Heat templates that are made from VNFDs.

``golden`` has the templates of the samples, one file for each.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
from unittest import mock

import ddt
import fixtures
from oslotest import base
from toscaparser import tosca_template
from translator.hot import tosca_translator
from translator.hot import translate_node_templates
import yaml

from tacker_rt import exception
from tacker_rt import request
from tacker_rt import translate
from tacker_rt.vnfd import typefiles
from tests.unit.tacker_rt import samples

GOLDEN = pathlib.Path(__file__).parent / 'golden'
SOURCES = {
    **{f'legacy-{path.stem}': path
       for path in samples.SAMPLES.glob('legacy/*.yaml')},
    **{path.parent.parent.parent.name: path
       for path in samples.SAMPLES.glob('*/package/Definitions/vnfd.yaml')}}
PAPER = SOURCES['legacy-paper-5.1']
HINTS = {'cpu.rt_runtime_us': 60000, 'cpu.rt_period_us': 100000}

_REGISTERED = """
import {first}
import {second}
from translator.hot import translate_node_templates
for name in ('tosca.nodes.nfv.VDU.Tacker', 'tosca.nodes.nfv.Vdu.Compute',
             'tacker_rt.policies.ResponseTime'):
    cls = translate_node_templates.TOSCA_TO_HOT_TYPE.get(name)
    print(name, cls and cls.__module__.partition('.')[0])
"""
_WITHOUT_TRANSLATOR = """
import sys
sys.modules['translator'] = None
from toscaparser import tosca_template
print(len(tosca_template.ToscaTemplate(sys.argv[1]).nodetemplates))
"""


def _python(code, *args):
    return subprocess.run(
        [sys.executable, '-W', 'ignore', '-c', code, *map(str, args)],
        check=True, capture_output=True, text=True)


def _names():
    return sorted({path.name.partition('.hot.yaml')[0].partition('.VDU')[0]
                   for path in GOLDEN.glob('*.yaml')})


@ddt.ddt
class TranslateTest(base.BaseTestCase):

    def vnfd(self, change=lambda text: text, source=PAPER):
        """A changed copy of a sample."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = folder / 'vnfd.yaml'
        path.write_text(change(source.read_text()))
        return path

    def replaced(self, old, new, source=PAPER):
        text = source.read_text()
        self.assertIn(old, text)
        return self.vnfd(lambda text: text.replace(old, new), source)

    def refused(self, text, path, **kwargs):
        error = self.assertRaises(exception.InvalidVnfd, translate.translate,
                                  path, **kwargs)
        self.assertEqual(text, str(error))

    @ddt.data(*_names())
    def test_golden(self, name):
        golden = {path.name.removeprefix(f'{name}.'): yaml.safe_load(
            path.read_text()) for path in GOLDEN.glob(f'{name}.*.yaml')}
        asked = samples.SAMPLES / name / 'requests' / 'instantiate.json'
        made = translate.translate(
            SOURCES[name], request=request.load(asked) if asked.exists()
            else request.Request())
        self.assertEqual(golden, made)

    def test_every_template_is_golden(self):
        """All but those with a base HOT, where nothing is translated."""
        self.assertEqual(
            sorted(name for name in SOURCES if name.startswith('legacy')),
            [name for name in _names() if name.startswith('legacy')])

    def test_version_of_the_old_profile(self):
        """VNFDs of this profile use the types of Tacker without an import."""
        path = self.replaced('tacker_rt_nfv_1_0_0',
                             'tosca_simple_profile_for_nfv_1_0_0')
        server = translate.translate(path)[translate.MAIN]['resources'][
            'VDU_A']['properties']
        self.assertEqual(HINTS, server['scheduler_hints'])

    def test_import_of_the_types(self):
        path = self.replaced(
            'tacker_rt_nfv_1_0_0\n', 'tosca_simple_profile_for_nfv_1_0_0\n'
            'imports:\n  - tacker_rt_legacy_types.yaml\n')
        server = translate.translate(path)[translate.MAIN]['resources'][
            'VDU_A']['properties']
        self.assertEqual(HINTS, server['scheduler_hints'])

    def test_derived_type(self):
        path = self.replaced('topology_template:', (
            'node_types:\n  mine:\n'
            '    derived_from: tosca.nodes.nfv.VDU.Tacker\n'
            'topology_template:'))
        path.write_text(path.read_text().replace(
            'type: tosca.nodes.nfv.VDU.Tacker', 'type: mine'))
        server = translate.translate(path)[translate.MAIN]['resources'][
            'VDU_A']['properties']
        self.assertEqual(HINTS, server['scheduler_hints'])

    def asking(self, vdu, **asked):
        return request.Request(parameters={'nfv': {'VDU': {vdu: {
            f'cpu.rt_{key}': value for key, value in asked.items()}}}})

    def test_what_a_request_asks_for(self):
        made = translate.translate(PAPER, request=self.asking(
            'VDU_A', runtime_us=70_000))
        self.assertEqual(
            {**HINTS, 'cpu.rt_runtime_us': 70_000},
            made[translate.MAIN]['resources']['VDU_A']['properties'][
                'scheduler_hints'])
        # It is of that translation alone.
        again = translate.translate(PAPER)[translate.MAIN]['resources']
        self.assertEqual(HINTS,
                         again['VDU_A']['properties']['scheduler_hints'])
        self.refused('additionalParams: VDU VDU_B: the VNFD has no such VDU; '
                     'did you mean VDU_A?', PAPER,
                     request=self.asking('VDU_B', runtime_us=70_000))

    def test_both_carriers(self):
        resources = translate.translate(PAPER, request=self.asking(
            'VDU_A', carrier='both'))[translate.MAIN]['resources']
        self.assertEqual(
            HINTS, resources['VDU_A']['properties']['scheduler_hints'])
        self.assertEqual(
            {f'hw:{key}': value for key, value in HINTS.items()},
            resources['VDU_A_flavor']['properties']['extra_specs'])

    def test_image_where_none_is_named(self):
        made = translate.translate(SOURCES['legacy-two-vdus-placement'],
                                   image='other')
        servers = made[translate.MAIN]['resources']
        self.assertEqual('lxc-busybox',
                         servers['VDU_A']['properties']['image'])
        made = translate.translate(PAPER, image='mine')
        self.assertEqual('mine', made[translate.MAIN]['resources']['VDU_A'][
            'properties']['image'])

    def test_flavor_as_an_input(self):
        path = self.replaced(
            'flavor: flavor_rt1', 'flavor: {get_input: f}',
            SOURCES['legacy-named-flavor'])
        path.write_text(path.read_text().replace(
            'topology_template:\n', 'topology_template:\n  inputs:\n'
            '    f: {type: string, default: flavor_rt1}\n'))
        made = translate.translate(path, inputs={'f': 'flavor_rt2'})
        resources = made[translate.MAIN]['resources']
        self.assertEqual(['VDU_A'], list(resources))
        self.assertEqual({'get_param': 'f'},
                         resources['VDU_A']['properties']['flavor'])

    def test_extra_specs_of_the_vnfd_are_kept(self):
        path = self.replaced(
            '            virtual_memory:',
            '            compute_requirements:\n'
            "              nova_extra_specs: '{hw:cpu_sockets: 1}'\n"
            '            virtual_memory:', SOURCES['sol001-made-flavor'])
        resources = translate.translate(path, request=self.asking(
            'VDU1', carrier='flavor'))[translate.MAIN]['resources']
        self.assertEqual(
            {'hw:cpu_sockets': 1, 'hw:cpu.rt_runtime_us': 60000,
             'hw:cpu.rt_period_us': 100000},
            resources['VDU1_flavor']['properties']['extra_specs'])

    @ddt.data("#!/bin/sh\nrm -rf 'my dir'\n", 'a: {b', "it's", '1.10', 'yes',
              '12:34:56', '2026', '060000', 'null', '', '\n\n x\n\n',
              '{ get_resource: VDU_A }', '# no', 'true; touch x; true : 1',
              '\ttab', 'ü', "''", '2026-11-22')
    def test_texts_come_out_as_they_are(self, text):
        """The texts pass through the VNF and once more through the output."""
        path = self.vnfd()
        content = yaml.safe_load(path.read_text())
        node = content['topology_template']['node_templates']['VDU_A']
        given = {'user_data': text, 'metadata': {'a': text, 'b': 'c'},
                 'availability_zone': text}
        node['properties'] = given
        path.write_text(yaml.safe_dump(content))
        server = translate.translate(path)[translate.MAIN]['resources'][
            'VDU_A']['properties']
        self.assertEqual(given, {key: server[key] for key in given})
        self.assertEqual(server, yaml.safe_load(yaml.safe_dump(server)))

    def test_texts_in_a_nested_template(self):
        path = self.replaced('name: VDU1\n', "name: '2026'\n",
                             SOURCES['sol001-scaling'])
        server = translate.translate(path)['VDU1_scale.hot.yaml'][
            'resources']['VDU1']['properties']
        self.assertEqual('2026', server['name'])
        self.assertEqual({'get_param': 'vdu1_flavor_id'}, server['flavor'])

    @ddt.data(0, False, '')
    def test_defaults_that_heat_translator_leaves_out(self, default):
        kind = {bool: 'boolean', int: 'integer', str: 'string'}[type(default)]
        path = self.vnfd()
        content = yaml.safe_load(path.read_text())
        content['topology_template']['inputs'] = {
            'x': {'type': kind, 'default': default}}
        path.write_text(yaml.safe_dump(content))
        made = translate.translate(path)[translate.MAIN]['parameters']['x']
        self.assertIs(type(default), type(made['default']))
        self.assertEqual(default, made['default'])

    def functions(self, user_data, metadata=None):
        """The properties of the server, with functions in them."""
        path = self.vnfd()
        content = yaml.safe_load(path.read_text())
        topology = content['topology_template']
        topology['inputs'] = {'x': {'type': 'string', 'default': 'of x'}}
        topology['node_templates']['VDU_A']['properties'] = {
            'name': 'n:1', 'user_data': user_data,
            **({'metadata': metadata} if metadata else {})}
        path.write_text(yaml.safe_dump(content))
        return translate.translate(path)[translate.MAIN]['resources'][
            'VDU_A']['properties']

    @ddt.data(({'get_property': ['SELF', 'name']}, 'n:1'),
              ({'concat': ['a', {'get_property': ['SELF', 'name']}, 'b']},
               'an:1b'),
              ({'token': [{'get_property': ['SELF', 'name']}, ':', 1]}, '1'),
              ({'get_input': 'x'}, {'get_param': 'x'}))
    @ddt.unpack
    def test_functions(self, function, value):
        """A function may be the value of a property, or deeper."""
        self.assertEqual(value, self.functions(function)['user_data'])
        self.assertEqual(
            {'a': value, 'b': 'c'},
            self.functions('u', {'a': function, 'b': 'c'})['metadata'])

    @ddt.data(
        ({'get_attribute': ['SELF', 'private_address']},
         'the value of the function get_attribute is not known before the '
         'VNF runs'),
        ({'token': ['a', ':', 1]},
         'the value of the function token is not known before the VNF runs'),
        ({'concat': ['a', {'get_input': 'x'}]},
         'the function concat with inputs cannot be translated'))
    @ddt.unpack
    def test_functions_without_a_word_in_heat(self, function, rule):
        error = self.assertRaises(exception.InvalidVnfd, self.functions,
                                  function)
        self.assertEqual(f'VNFD: VDU_A.properties.user_data: {rule}; write '
                         'the value itself.', str(error))

    def test_a_function_that_is_its_own_value(self):
        error = self.assertRaises(
            exception.InvalidVnfd, self.functions,
            {'get_property': ['SELF', 'user_data']})
        self.assertNotIn('\n', str(error))

    def test_rates_need_not_be_whole(self):
        path = self.replaced('arrival_rate_hz: 200', 'arrival_rate_hz: 0.5',
                             SOURCES['sol001-p99'])
        server = translate.translate(path)[translate.MAIN]['resources'][
            'VDU1']['properties']
        self.assertEqual(505, server['scheduler_hints']['cpu.rt_runtime_us'])

    @ddt.data(('target_us: 10000', 'target_us: 0', 'target_us'),
              ('percentile: 0.99', 'percentile: 1.0', 'percentile'))
    @ddt.unpack
    def test_constraints_of_a_policy(self, old, new, key):
        path = self.replaced(old, new, SOURCES['sol001-p99'])
        error = self.assertRaises(exception.InvalidVnfd, translate.translate,
                                  path)
        self.assertIn(f'policy answers_in_10_ms: {key}=', str(error))

    def test_a_wrong_reservation(self):
        self.refused(
            'vnfd.yaml: VDU VDU_A: cpu.rt_runtime_us=200000: it is more than '
            'the period of 100000; give at most the period.',
            self.replaced('60000', '200000'))

    def test_a_wrong_value_of_an_input(self):
        self.refused(
            'inputs.yaml: VDU VDU_A: cpu.rt_runtime_us=0: it must be a '
            'positive whole number of microseconds; give for example 100000 '
            'for 100 ms.', SOURCES['legacy-inputs'],
            inputs={'rt_runtime_us': 0})

    @ddt.data(('4096 MB', 'much', 'mem_size', 'MB'),
              ('20 GB', '{get_input: d}', 'disk_size', 'GB'))
    @ddt.unpack
    def test_a_wrong_size(self, old, new, key, unit):
        path = self.replaced(old, new)
        path.write_text(path.read_text().replace(
            'topology_template:\n', 'topology_template:\n  inputs:\n'
            '    d: {type: string, default: 1 GB}\n'))
        shown = "{'get_input': 'd'}" if 'get' in new else repr(new)
        self.refused(
            f'VNFD: VDU VDU_A: {key}={shown}: the value is not a size in '
            f'{unit}; give a number with its unit, for example 1 {unit}.',
            path)

    def test_neither_a_size_nor_a_flavor(self):
        path = self.vnfd(
            lambda text: re.sub(r'      capabilities:\n( {8}.*\n)+', '', text),
            SOURCES['sol001-made-flavor'])
        self.refused(
            'vnfd.yaml: VDU VDU1: the VDU does not say how many CPUs and how '
            'much memory it has; give the VDU the capability '
            'virtual_compute.', path)

    def test_what_tosca_parser_refuses(self):
        error = self.assertRaises(
            exception.InvalidVnfd, translate.translate,
            self.replaced('num_cpus: 4', 'num_cpu: 4'))
        self.assertRegex(str(error), r'^vnfd.yaml: the VNFD cannot be '
                         r'translated \(.*"num_cpu".*\); correct its TOSCA\.$')

    def test_a_file_that_is_nowhere(self):
        self.refused(
            "vnfd.yaml: imports='no.yaml': the imported file does not exist; "
            "put it "
            'next to the file that imports it, or give the directory of the '
            'SOL001 types as --etsi-types.',
            self.replaced('topology_template:',
                          'imports: [no.yaml]\ntopology_template:'))

    def test_nothing_is_written_outside(self):
        """No import makes it write elsewhere, even if it is then refused."""
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (folder / 'vnf').mkdir()
        (folder / 'out.yaml').write_text('tosca_definitions_version: x\n')
        temporary = folder / 'tmp'
        temporary.mkdir()
        self.useFixture(fixtures.MonkeyPatch('tempfile.tempdir',
                                             str(temporary)))
        path = folder / 'vnf' / 'vnfd.yaml'
        for name in ('../out.yaml', '../../out.yaml',
                     str(folder / 'out.yaml')):
            path.write_text(PAPER.read_text() + f'imports: [{name}]\n')
            before = (folder / 'out.yaml').stat().st_mtime_ns
            self.assertRaises(exception.InvalidVnfd, translate.translate,
                              path)
            self.assertEqual([], list(temporary.iterdir()))
            self.assertEqual(before,
                             (folder / 'out.yaml').stat().st_mtime_ns)

    def test_files_of_the_working_directory_are_not_read(self):
        """tosca-parser looks in the working directory first."""
        path = self.replaced('topology_template:',
                             'imports: [types.yaml]\ntopology_template:')
        (path.parent / 'types.yaml').write_text(
            'tosca_definitions_version: tosca_simple_yaml_1_0\n')
        elsewhere = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (elsewhere / 'types.yaml').write_text('bad: [')
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(elsewhere)
        self.assertIn('VDU_A', translate.translate(path)[translate.MAIN][
            'resources'])

    def test_a_scaling_aspect_is_no_path(self):
        path = self.replaced('VDU1_scale', '../../x',
                             SOURCES['sol001-scaling'])
        self.refused(
            'vnfd.yaml: ../../x.hot.yaml: a scaling aspect gives its '
            'template this name, which is not a file name; name the aspect '
            'with letters and digits.',
            path)

    def test_nothing_is_fetched(self):
        server = self.useFixture(fixtures.MockPatch(
            'urllib.request.urlopen', side_effect=AssertionError))
        for old, new in (
                ('topology_template:', 'imports: [http://127.0.0.1:9/a.yaml]'
                 '\ntopology_template:'),
                ('topology_template:', 'repositories: {r: {url: '
                 '"http://127.0.0.1:9"}}\nimports: [{x: {file: a.yaml, '
                 'repository: r}}]\ntopology_template:')):
            error = self.assertRaises(
                exception.InvalidVnfd, translate.translate,
                self.replaced(old, new))
            self.assertIn('fetches nothing', str(error))
        self.assertFalse(server.mock.called)

    def test_no_file(self):
        self.refused('no.yaml: the file cannot be read (No such file or '
                     'directory); give the path of a '
                     'file.', pathlib.Path('no.yaml'))


class WithoutReservationTest(base.BaseTestCase):
    """Installing this package changes no VNF without a reservation."""

    def texts(self, path):
        """Returns heat-translator's texts for Tacker, or its error."""
        try:
            tosca = tosca_template.ToscaTemplate(str(path), {})
            return tosca_translator.TOSCATranslator(
                tosca, {}).translate_to_yaml_files_dict('hot.yaml')
        except Exception as error:
            return type(error).__name__

    def compare(self, path):
        types = translate_node_templates.TOSCA_TO_HOT_TYPE
        with mock.patch.dict(types, translate_node_templates
                             ._generate_type_map()):
            without = self.texts(path)
        self.assertEqual(without, self.texts(path))
        return without

    def test_samples(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for source in typefiles.tacker_directory().glob('etsi*.yaml'):
            shutil.copy(source, folder)
        path = folder / 'vnfd.yaml'
        for name, change in (
                ('sol001-flavor', lambda text: text),
                ('sol001-flavor', lambda text: text.replace(
                    'flavor_rt1', '{concat: [SR, IOV]}')),
                ('sol001-individual', _without_keys),
                ('sol001-scaling', _without_keys)):
            path.write_text(change(SOURCES[name].read_text()))
            made = self.compare(path)
            self.assertIn('OS::Nova::Flavor', str(made))

    def test_those_of_tacker(self):
        paths = sorted(typefiles.tacker_directory().glob('tosca_*.yaml'))
        self.assertGreater(len(paths), 5)
        made = [self.compare(path) for path in paths]
        self.assertGreater(sum(isinstance(one, dict) for one in made), 1)


def _without_keys(text):
    return re.sub(r'.*(vdu_cpu_requirements|cpu\.rt_).*\n', '', text)


@ddt.ddt
class ExtensionTest(base.BaseTestCase):
    """The tests in processes that have imported nothing yet."""

    @ddt.data(('toscaparser.tosca_template',
               'translator.hot.tosca_translator'),
              ('translator.hot.tosca_translator',
               'toscaparser.tosca_template'))
    @ddt.unpack
    def test_registered_whatever_is_imported_first(self, first, second):
        done = _python(_REGISTERED.format(first=first, second=second))
        self.assertEqual(
            'tosca.nodes.nfv.VDU.Tacker tacker_rt\n'
            'tosca.nodes.nfv.Vdu.Compute tacker_rt\n'
            'tacker_rt.policies.ResponseTime tacker_rt\n', done.stdout)
        self.assertEqual('', done.stderr)

    def test_types_without_heat_translator(self):
        done = _python(_WITHOUT_TRANSLATOR, PAPER)
        self.assertEqual('1\n', done.stdout)
