# SPDX-License-Identifier: Apache-2.0

"""What is tested here: Heat templates out of VNFDs.

``golden`` has the templates of the samples, one file for each.
"""

import pathlib
import subprocess
import sys

import ddt
import fixtures
from oslotest import base
import yaml

from tacker_rt import exception
from tacker_rt import translate
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
        made = translate.translate(SOURCES[name])
        self.assertEqual(golden, made)

    def test_every_template_is_golden(self):
        """All but those with a base HOT, where nothing is translated."""
        self.assertEqual(
            sorted(name for name in SOURCES if name.startswith('legacy')),
            [name for name in _names() if name.startswith('legacy')])

    def test_version_of_the_old_profile(self):
        """Its VNFDs use the types of Tacker without an import."""
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

    def test_both_carriers(self):
        path = self.replaced(
            '              cpu.rt_runtime_us: 60000\n',
            '              cpu.rt_runtime_us: 60000\n'
            '              cpu.rt_carrier: both\n')
        resources = translate.translate(path)[translate.MAIN]['resources']
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
        resources = translate.translate(path)[translate.MAIN]['resources']
        self.assertEqual(
            {'hw:cpu_sockets': 1, 'hw:cpu.rt_runtime_us': 60000,
             'hw:cpu.rt_period_us': 100000},
            resources['VDU1_flavor']['properties']['extra_specs'])

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
            f'VNFD: VDU VDU_A: {key}={shown}: it is not a size in {unit}; '
            f'give a number with its unit, for example 1 {unit}.', path)

    def test_what_tosca_parser_refuses(self):
        error = self.assertRaises(
            exception.InvalidVnfd, translate.translate,
            self.replaced('num_cpus: 4', 'num_cpu: 4'))
        self.assertRegex(str(error), r'^vnfd.yaml: it cannot be translated '
                         r'\(.*"num_cpu".*\); correct it as TOSCA\.$')

    def test_a_file_that_is_nowhere(self):
        self.refused(
            "vnfd.yaml: imports='no.yaml': there is no such file; put it "
            'next to this one, or give --etsi-types the directory of the '
            'SOL001 types.',
            self.replaced('topology_template:',
                          'imports: [no.yaml]\ntopology_template:'))

    def test_no_file(self):
        self.refused('no.yaml: it cannot be read (No such file or '
                     'directory); give a file.', pathlib.Path('no.yaml'))


@ddt.ddt
class ExtensionTest(base.BaseTestCase):
    """In processes that have imported nothing yet."""

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
