# SPDX-License-Identifier: Apache-2.0

"""Tests every problem, of the samples and of packages.

The samples in tosca-samples/invalid begin with the lines that are expected.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import zipfile

import fixtures
from oslotest import base
import yaml

import tacker_rt
from tacker_rt import exception
from tacker_rt import request
from tacker_rt import validate
from tacker_rt.vnfd import typefiles
from tests.unit.tacker_rt import samples

_EXPECT = re.compile(rb'# expect: (.*)\n')
_NOTHING = request.Request()
_META = """TOSCA-Meta-File-Version: 1.0
Created-By: me
CSAR-Version: 1.1
Entry-Definitions: Definitions/vnfd.yaml
"""


class SamplesTest(base.BaseTestCase):

    def test_invalid(self):
        names = [path.name for path in samples.INVALID.iterdir()]
        self.assertGreater(len(names), 80)
        for name in names:
            path = samples.INVALID / name
            text = path if path.is_file() else path / 'Definitions/vnfd.yaml'
            expected = [line.decode() for line
                        in _EXPECT.findall(text.read_bytes())]
            self.assertNotEqual([], expected)
            found = map(str, validate.validate(str(path)))
            self.assertEqual(
                expected,
                [line.removeprefix(f'{samples.INVALID}/') for line in found])

    def test_valid(self):
        paths = [samples.SAMPLES / 'legacy', *samples.packages()]
        self.assertGreater(len(paths), 5)
        for path in paths:
            self.assertEqual([], validate.validate(str(path)), path)

    def test_types(self):
        """Our types have properties with the names of the keys."""
        folder = pathlib.Path(tacker_rt.__file__).parent / 'defs'
        self.assertEqual([], validate.validate(str(folder)))


class PackageTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.package = self.folder / 'p'
        shutil.copytree(samples.SAMPLES / 'sol001-hints' / 'package',
                        self.package)
        for source in typefiles.tacker_directory().glob('etsi*.yaml'):
            shutil.copy(source, self.package / 'Definitions')
        self.write('TOSCA-Metadata/TOSCA.meta', _META)

    def write(self, member, text):
        path = self.package / member
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)

    def edit(self, member, old, new):
        path = self.package / member
        self.assertIn(old, path.read_text())
        path.write_text(path.read_text().replace(old, new))

    def problems(self, asked=_NOTHING, directory=False):
        """Returns the CSAR's problems, equal to those of its *directory*."""
        path = self.folder / 'p.csar'
        with zipfile.ZipFile(path, 'w') as archive:
            for file in sorted(self.package.rglob('*')):
                archive.write(file, file.relative_to(self.package))
        found = [[str(one).removeprefix(f'{where}').lstrip('/: ')
                  for one in validate.validate(str(where), asked)]
                 for where in ([path, self.package] if directory else [path])]
        self.assertEqual(found[0], found[-1])
        return found[0]

    def test_valid(self):
        self.assertEqual([], self.problems(directory=True))

    def test_v1_without_templates(self):
        """In v1, the type of a VDU may be derived from that of SOL001."""
        self.edit('Definitions/vnfd.yaml', 'type: tosca.nodes.nfv.Vdu.Compute',
                  'type: company.Vdu')
        self.edit('Definitions/vnfd.yaml', 'node_types:\n',
                  'node_types:\n  company.Vdu: {derived_from: '
                  'tosca.nodes.nfv.Vdu.Compute}\n')
        self.assertEqual(1, len(self.problems()))
        shutil.rmtree(self.package / 'BaseHOT')
        self.assertEqual([], self.problems())

    def test_meta_needs_no_author(self):
        """Tacker's own packages say Created-by, and no more is needed."""
        for text in (_META.replace('Created-By', 'Created-by'),
                     'Entry-Definitions: Definitions/vnfd.yaml\n'):
            self.write('TOSCA-Metadata/TOSCA.meta', text)
            self.assertEqual([], self.problems())

    def test_no_meta_but_one_vnfd_at_the_top(self):
        """The other layout of SOL004."""
        shutil.rmtree(self.package / 'TOSCA-Metadata')
        for file in (self.package / 'Definitions').iterdir():
            file.rename(self.package / file.name if 'vnfd.yaml' == file.name
                        else file)
        self.edit('vnfd.yaml', '  - etsi', '  - Definitions/etsi')
        path = shutil.make_archive(str(self.folder / 'q'), 'zip',
                                   self.package)
        self.assertEqual([], validate.validate(path))

    def test_files_that_are_not_there(self):
        """tests/functional/tacker compares such packages with Tacker."""
        text = '    VDU1:\n      artifacts: {a: {file: ../Files/a.bin}}\n'
        self.edit('Definitions/vnfd.yaml', '    VDU1:\n', text)
        self.assertEqual(
            ["Definitions/vnfd.yaml: VDU1.artifacts.a.file='../Files/a.bin': "
             'the package has no such file; add the file, or remove this '
             'key.'], self.problems(directory=True))

    def test_a_request_without_user_data(self):
        """A request without user data would silently lose the reservation."""
        hot = 'BaseHOT/simple/hot.yaml'
        self.assertEqual([], validate.warnings(str(self.package)))
        self.edit(hot, '  tacker_rt:', '  other:')
        self.assertEqual(
            [f'{self.package}/{hot}: VDU VDU1: a request that names no user '
             'data silently deploys the VDU without its reservation; add '
             'the resource tacker_rt, so that Heat refuses the request.'],
            list(map(str, validate.warnings(str(self.package)))))
        self.edit('BaseHOT/simple/nested/VDU1.yaml', '      networks:',
                  '      scheduler_hints: {cpu.rt_runtime_us: 60000, '
                  'cpu.rt_period_us: 100000}\n      networks:')
        self.assertEqual([], validate.warnings(str(self.package)))
        for path in ('legacy', 'legacy/paper-5.1.yaml',
                     'sol001-flavor/package', 'v1-userdata/package'):
            self.assertEqual([], validate.warnings(
                str(samples.SAMPLES / path)), path)

    def test_what_tosca_parser_refuses(self):
        self.edit('Definitions/vnfd.yaml', 'num_virtual_cpu', 'num_virtal')
        self.assertRegex(
            self.problems(directory=True)[0],
            r'^Definitions/vnfd.yaml: tosca-parser refuses the VNFD \(\w+: '
            r'.*num_virtal.*\); correct its TOSCA\.$')

    def test_a_policy_whose_type_is_not_imported(self):
        self.edit('Definitions/vnfd.yaml', '  policies:\n', """  policies:
    - mine:
        type: tacker_rt.policies.CpuReservation
        targets: [VDU1]
        properties: {runtime_us: 5000, period_us: 10000}
""")
        self.assertEqual(
            ['Definitions/vnfd.yaml: policy mine: '
             "type='tacker_rt.policies.CpuReservation': no "
             'imported file defines this type; import '
             'tacker_rt_policy_types.yaml, which tacker-rt pack '
             'adds.'], self.problems())
        self.edit('Definitions/vnfd.yaml', 'imports:\n',
                  'imports:\n  - tacker_rt_policy_types.yaml\n')
        shutil.copy(typefiles.OURS / typefiles.POLICIES,
                    self.package / 'Definitions')
        self.assertEqual([], self.problems())

    def test_what_tacker_refuses(self):
        self.edit('Definitions/vnfd.yaml', 'tacker_rt.samples.Vnf:\n'
                  '    derived_from: tosca.nodes.nfv.VNF',
                  'tacker_rt.samples.Vnf:\n'
                  '    derived_from: tosca.nodes.Root')
        self.assertIn('no node template has a type derived from '
                      'tosca.nodes.nfv.VNF', ' '.join(self.problems()))

    def test_a_flavor_without_a_place(self):
        shutil.copytree(samples.SAMPLES / 'sol001-made-flavor' / 'package',
                        self.package, dirs_exist_ok=True)
        self.edit('BaseHOT/simple/hot.yaml', 'computeFlavourId', 'flavorId')
        self.assertEqual(
            ['BaseHOT/simple: VDU VDU1: no server can use the flavor that '
             'carries the reservation: no server takes its flavor from [nfv, '
             'VDU, VDU1, computeFlavourId]; let the server take its flavor '
             'from this parameter, or use the carrier hints.'],
            self.problems(self.asking('flavor')))
        self.assertEqual([], self.problems())
        self.assertEqual([], self.problems(
            dataclasses.replace(self.asking('flavor'), flavour='other')))

    def test_a_hint_beside_the_flavor_of_a_request(self):
        self.edit('BaseHOT/simple/nested/VDU1.yaml', '      image:',
                  '      scheduler_hints: {cpu.rt_runtime_us: 60000}\n'
                  '      image:')
        self.assertEqual([], self.problems())
        self.assertIn(
            'BaseHOT/simple/nested/VDU1.yaml: VDU VDU1: '
            'cpu.rt_runtime_us=60000: the request says that the flavor '
            'carries the reservation; remove the hint.',
            self.problems(self.asking('flavor')))

    @staticmethod
    def asking(carrier):
        return request.Request('simple', {'nfv': {'VDU': {'VDU1': {
            'cpu.rt_carrier': carrier}}}})

    def test_an_input_without_a_value(self):
        """Tacker passes no values of inputs on."""
        self.edit('Definitions/vnfd.yaml', "cpu.rt_runtime_us: '60000'",
                  'cpu.rt_runtime_us: {get_input: rt}')
        self.edit('Definitions/vnfd.yaml', 'topology_template:\n',
                  'topology_template:\n  inputs: {rt: {type: string}}\n')
        self.assertEqual(
            ['BaseHOT/simple: VDU VDU1: the input rt of the reservation has '
             'no value; give the input a default.'], self.problems())

    def test_inputs_of_another_file(self):
        """Each template has its own inputs, of any type and default."""
        (self.package / 'Definitions' / 'other.yaml').write_text(
            'tosca_definitions_version: tosca_simple_yaml_1_2\n'
            'topology_template: {inputs: {rt: {type: float, default: 5}}}\n')
        self.edit('Definitions/vnfd.yaml', "cpu.rt_runtime_us: '60000'",
                  'cpu.rt_runtime_us: {get_input: rt}')
        self.edit('Definitions/vnfd.yaml', 'topology_template:\n',
                  'topology_template:\n'
                  "  inputs: {rt: {type: string, default: '60000'}}\n")
        self.assertEqual([], self.problems())

    def test_a_vdu_without_a_reservation_needs_no_server(self):
        """The server may have another name, because it gets no values."""
        path = self.package / 'Definitions/vnfd.yaml'
        path.write_text(re.sub(r'cpu\.rt_(\w+):', r'x_\1:',
                               path.read_text()))
        self.write('BaseHOT/simple/hot.yaml', """
heat_template_version: 2013-05-23
resources: {}
""")
        shutil.rmtree(self.package / 'BaseHOT/simple/nested')
        self.assertEqual([], self.problems())

    def test_a_resource_group(self):
        self.write('BaseHOT/simple/hot.yaml', """
resources:
  VDU1:
    type: OS::Heat::ResourceGroup
    properties:
      resource_def: {type: OS::Nova::Server}
""")
        shutil.rmtree(self.package / 'BaseHOT/simple/nested')
        self.assertEqual([], self.problems())

    def test_a_package_for_another_tool(self):
        shutil.rmtree(self.package / 'BaseHOT')
        self.write('Files/terraform/main.tf', '')
        self.assertEqual(
            ['VDU VDU1: the reservation has no effect: the package has no '
             'BaseHOT, and Terraform, Helm and Kubernetes do not know '
             'reservations; remove the reservation.'], self.problems())

    def test_two_flavours_with_vdus_of_equal_names(self):
        """A package has both, and so has a VNFD that imports both."""
        vnfd = self.package / 'Definitions' / 'vnfd.yaml'
        other = vnfd.read_text().replace('flavour_id: simple',
                                         'flavour_id: other')
        (vnfd.parent / 'other.yaml').write_text(other)
        top = vnfd.parent / 'top.yaml'
        top.write_text('tosca_definitions_version: tosca_simple_yaml_1_2\n'
                       'imports: [vnfd.yaml, other.yaml]\n')
        self.assertEqual([], validate.validate(str(top)))

    def test_meta_of_artifacts(self):
        self.write('TOSCA-Metadata/TOSCA.meta', _META
                   + '\nSource: Scripts/a.py\nAlgorithm: SHA-256\nHash: 00\n'
                   '\nSource: https://a.example/b\n')
        self.assertEqual(
            ["TOSCA-Metadata/TOSCA.meta: Source='Scripts/a.py': the package "
             "has no "
             'such file; remove the artifact, or add the file.'],
            self.problems())

    def test_meta_that_is_none(self):
        self.write('TOSCA-Metadata/TOSCA.meta', _META + 'x\n')
        self.assertEqual(['TOSCA-Metadata/TOSCA.meta: line 5: the line is '
                          'not KEY: VALUE; correct the '
                          'line.'], self.problems())

    def test_csar_without_meta(self):
        (self.package / 'TOSCA-Metadata/TOSCA.meta').unlink()
        self.assertEqual([], validate.validate(str(self.package)))
        path = shutil.make_archive(str(self.folder / 'q'), 'zip',
                                   self.package)
        self.assertEqual(
            [f'{path}: TOSCA-Metadata/TOSCA.meta is missing; make the CSAR '
             'with tacker-rt pack.'],
            list(map(str, validate.validate(path))))

    def test_imports_of_a_csar(self):
        self.edit('Definitions/vnfd.yaml', 'imports:\n',
                  'imports:\n  - a.yaml\n  - file: vnfd.yaml\n'
                  '  - https://b/c.yaml\n')
        path = shutil.make_archive(str(self.folder / 'q'), 'zip',
                                   self.package)
        self.assertEqual(
            [f"{path}/Definitions/vnfd.yaml: imports='a.yaml': the package "
             "has no "
             'such file; add the file; tacker-rt pack adds the type files of '
             'SOL001.'], list(map(str, validate.validate(path))))
        self.assertEqual([], validate.validate(str(self.package)))

    def test_no_definitions(self):
        shutil.rmtree(self.package / 'Definitions')
        found = validate.validate(str(self.package))
        self.assertIn(f'{self.package}: Definitions has no YAML files; put '
                      'the VNFD into this folder.', list(map(str, found)))

    def test_scaling_group(self):
        self.write('BaseHOT/simple/hot.yaml', """
resources:
  group:
    type: OS::Heat::AutoScalingGroup
    properties:
      resource: {type: VDU1.yml}
""")
        self.assertEqual(
            ["BaseHOT/simple/hot.yaml: group.type='VDU1.yml': the folder "
             "nested has no "
             'such file; did you mean VDU1.yaml?'],
            self.problems())

    def test_server_in_the_top_template(self):
        shutil.rmtree(self.package / 'BaseHOT/simple/nested')
        self.write('BaseHOT/simple/hot.yaml', """
resources:
  VDU1: {type: OS::Nova::Server}
""")
        self.assertEqual([], self.problems())

    def test_templates_that_are_none(self):
        for text, problem in (
                ('[]', 'the file is not a Heat template; write the template '
                       'as a mapping.'),
                ('{]', 'line 1: this is not YAML (did not find expected node '
                 'content); check the indentation and the quotes.'),
                ('resources: [1]', 'resources=[1]: the value must be a '
                 'mapping; indent the keys of the mapping below its name.'),
                ('resources: {VDU1: 5}', 'VDU1=5: the value must be a '
                 'mapping; indent the keys of the mapping below its name.')):
            self.write('BaseHOT/simple/nested/VDU1.yaml', text)
            self.assertEqual(
                [f'BaseHOT/simple/nested/VDU1.yaml: {problem}',
                 'BaseHOT/simple: VDU VDU1: no OS::Nova::Server has the name '
                 'of the VDU; name the server VDU1.'], self.problems())

    def hints(self, **values):
        path = self.package / 'BaseHOT/simple/nested/VDU1.yaml'
        lines = ''.join(f'        cpu.rt_{key}: {value}\n'
                        for key, value in values.items())
        path.write_text(path.read_text() + '      scheduler_hints:\n'
                        '        group: x\n' + lines)
        return [line.partition('VDU VDU1: ')[2] for line in self.problems()]

    def test_hints_that_agree(self):
        self.assertEqual([], self.hints(runtime_us=60000,
                                        period_us="'100000'"))

    def test_hints_from_parameters(self):
        self.assertEqual([], self.hints(runtime_us='{get_param: r}'))

    def test_bad_hints(self):
        self.assertEqual(
            ['cpu.rt_runtime=1: there is no such hint; did you mean '
             'cpu.rt_runtime_us?',
             "cpu.rt_period_us='x': it must be a positive whole number of "
             'microseconds; give for example 100000 for 100 ms.'],
            self.hints(runtime=1, period_us='x'))


class PathTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def refused(self, path, rule):
        error = self.assertRaises(exception.InvalidVnfd, validate.validate,
                                  str(path))
        self.assertEqual(f'{path}: {rule}; give a VNFD, the directory of a '
                         'package, or a CSAR.', str(error))

    def test_nothing_there(self):
        path = self.folder / 'a.yaml'
        self.assertEqual(
            [f'{path}: the file cannot be read (No such file or directory); '
             'give the path of a '
             'file.'], list(map(str, validate.validate(str(path)))))
        self.refused(self.folder, 'the directory has neither VNFDs nor '
                                  'Definitions')

    def test_imported_types(self):
        """Files may import each other, or files that do not exist."""
        vnfd = samples.sol001(samples.hints('5', '4'))
        samples.node(vnfd)['type'] = 'company.Vdu'
        types = {'node_types': {
            'company.Vdu': {'derived_from': 'tosca.nodes.nfv.Vdu.Compute'}}}
        for name, template, imports in (
                ('vnfd.yaml', vnfd, ['types.yaml', 'none.yaml', 'http://[']),
                ('types.yaml', types, [{'file': './vnfd.yaml'}])):
            (self.folder / name).write_text(yaml.safe_dump({
                'tosca_definitions_version': 'x', 'imports': imports,
                **template}))
        for path in (self.folder, self.folder / 'vnfd.yaml'):
            self.assertEqual(
                [f'{self.folder}/vnfd.yaml: VDU VDU1: cpu.rt_runtime_us=5: it '
                 'is more than the period of 4; give at most the period.'],
                list(map(str, validate.validate(str(path)))))

    def test_imports_that_lead_out(self):
        """No content of the file is shown, as the caller may not read it."""
        folder = self.folder / 'vnf'
        folder.mkdir()
        (self.folder / 'out.yaml').write_text('secret')
        (folder / 'link.yaml').symlink_to('../out.yaml')
        path = folder / 'vnfd.yaml'
        path.write_text('tosca_definitions_version: x\n'
                        'imports: [../out.yaml, link.yaml, http://a/b]\n')
        self.assertEqual(
            [f"{path}: imports='{name}': the path leads out of the folder of "
             "the "
             'VNFD; give a path below this folder.'
             for name in ('../out.yaml', 'link.yaml')],
            list(map(str, validate.validate(str(path)))))

    def test_imports_below_another_folder(self):
        folder = self.folder / 'vnf'
        folder.mkdir()
        out = samples.sol001(samples.hints('5', '4'))
        (self.folder / 'out.yaml').write_text(yaml.safe_dump({
            'tosca_definitions_version': 'x', **out}))
        path = folder / 'vnfd.yaml'
        path.write_text('tosca_definitions_version: x\n'
                        'imports: [../out.yaml, ../../x.yaml]\n')
        for given in (path, folder):
            found = sorted(map(str, validate.validate(
                str(given), root=str(self.folder))))
            self.assertEqual([
                f'{self.folder}/out.yaml: VDU VDU1: cpu.rt_runtime_us=5: it '
                'is more than the period of 4; give at most the period.',
                f"{path}: imports='../../x.yaml': the path leads out of the "
                "folder "
                'of the VNFD; give a path below this folder.'], found)
        error = self.assertRaises(
            exception.InvalidVnfd, validate.validate,
            str(self.folder / 'out.yaml'), root=str(folder))
        self.assertEqual(
            f'{self.folder}/out.yaml: the VNFD does not lie below {folder}; '
            'as --root, give a directory above the VNFD.', str(error))

    def test_a_pipe_is_not_waited_for(self):
        path = self.folder / 'a.yaml'
        os.mkfifo(path)
        self.assertEqual([f'{path}: this is not a regular file; give the '
                          'path of a file.'],
                         list(map(str, validate.validate(str(path)))))

    def test_long_file(self):
        path = self.folder / 'a.yaml'
        path.write_bytes(b'#' * 10_000_001)
        self.assertEqual(
            [f'{path}: the file has more than 10000000 bytes; give a shorter '
             'file.'], list(map(str, validate.validate(str(path)))))
