# SPDX-License-Identifier: Apache-2.0

"""Tests packages that are made from directories and legacy VNFDs."""

import os
import pathlib
import shutil
import tracemalloc
import zipfile

import ddt
import fixtures
from oslotest import base
import yaml

from tacker_rt import exception
from tacker_rt.package import legacy
from tacker_rt.package import pack
from tacker_rt.vnfd import descriptor
from tests.unit.tacker_rt import samples

LEGACY = samples.SAMPLES / 'legacy'
PACKAGE = samples.SAMPLES / 'sol001-p99' / 'package'
ETSI = ('etsi_nfv_sol001_common_types.yaml',
        'etsi_nfv_sol001_vnfd_types.yaml')
REQUIREMENTS = ('capabilities', 'virtual_compute', 'properties',
                'virtual_cpu', 'vdu_cpu_requirements')


class Base(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        # Any file will do for these; ETSI's are not ours to have.
        self.etsi = self.folder / 'etsi'
        self.etsi.mkdir()
        for name in ETSI:
            (self.etsi / name).write_text(
                'tosca_definitions_version: tosca_simple_yaml_1_2\n')

    def copied(self):
        return pathlib.Path(shutil.copytree(PACKAGE, self.folder / 'package'))

    def refused(self, text, function, *args, **kwargs):
        error = self.assertRaises(exception.InvalidVnfd, function, *args,
                                  **kwargs)
        self.assertEqual(text, str(error))


class DirectoryTest(Base):
    def test_what_is_missing_is_added(self):
        members = pack.directory(PACKAGE, self.etsi)
        self.assertEqual(
            {'BaseHOT/simple/hot.yaml', 'BaseHOT/simple/nested/VDU1.yaml',
             'Definitions/vnfd.yaml', 'TOSCA-Metadata/TOSCA.meta',
             'Definitions/tacker_rt_policy_types.yaml',
             *(f'Definitions/{name}' for name in ETSI)}, set(members))
        self.assertIn(b'\nEntry-Definitions: Definitions/vnfd.yaml\n',
                      members['TOSCA-Metadata/TOSCA.meta'])

    def test_what_is_there_is_kept(self):
        package = self.copied()
        own = package / 'Definitions' / ETSI[0]
        own.write_text('description: mine\n')
        meta = package / 'TOSCA-Metadata' / 'TOSCA.meta'
        meta.parent.mkdir()
        meta.write_text('mine')
        cache = package / 'UserData' / '__pycache__'
        cache.mkdir(parents=True)
        (cache / 'x.pyc').write_bytes(b'')
        members = pack.directory(package, self.etsi)
        self.assertEqual(own, members[f'Definitions/{own.name}'])
        self.assertEqual(meta, members['TOSCA-Metadata/TOSCA.meta'])
        self.assertNotIn('pyc', str(list(members)))

    def warnings(self, package):
        found = []
        pack.directory(package, self.etsi, found)
        return list(map(str, found))

    def test_what_is_left_out_is_told(self):
        package = self.copied()
        (package / 'Scripts' / '__pycache__').mkdir(parents=True)
        (package / 'Files' / 'images').mkdir(parents=True)
        self.assertEqual(
            ['package: Files/images: an empty folder is left out; put a file '
             'into the folder if the VNF needs it.',
             'package: Scripts/__pycache__: this folder is left out; rename '
             'the folder if the VNF needs it.'], self.warnings(package))

    def test_what_a_manifest_does_not_list_is_told(self):
        package = self.copied()
        self.assertEqual([], self.warnings(package))
        (package / 'vnf.mf').write_text('metadata:\n')
        expected = [
            f'package: {name}: vnf.mf does not list this file; put the file '
            'into the package and list it in the manifest, before the '
            'manifest is signed.'
            for name in sorted((
                *(f'Definitions/{name}' for name in ETSI),
                'Definitions/tacker_rt_policy_types.yaml',
                'TOSCA-Metadata/TOSCA.meta'))]
        self.assertEqual(expected, self.warnings(package))
        meta = package / 'TOSCA-Metadata' / 'TOSCA.meta'
        meta.parent.mkdir()
        meta.write_text('Entry-Definitions: Definitions/vnfd.yaml\n'
                        'ETSI-Entry-Manifest: vnf.mf\n')
        self.assertEqual(expected[:-1], self.warnings(package))

    def test_a_script_can_be_run(self):
        package = self.copied()
        scripts = package / 'Scripts'
        scripts.mkdir()
        for name, mode in (('a.sh', 0o755), ('b.sh', 0o700),
                           ('c.txt', 0o600)):
            (scripts / name).write_text('')
            (scripts / name).chmod(mode)
        pack.write(pack.directory(package, self.etsi), self.folder / 'a.csar')
        with zipfile.ZipFile(self.folder / 'a.csar') as archive:
            modes = {info.filename: info.external_attr >> 16
                     for info in archive.infolist()}
        self.assertEqual([0o755, 0o755, 0o644], [
            modes[f'Scripts/{name}'] for name in ('a.sh', 'b.sh', 'c.txt')])
        self.assertEqual(0o644, modes['TOSCA-Metadata/TOSCA.meta'])

    def test_same_bytes_each_time(self):
        archives = []
        for name in ('a.csar', 'b.csar'):
            pack.write(pack.directory(PACKAGE, self.etsi), self.folder / name)
            archives.append((self.folder / name).read_bytes())
        self.assertEqual(*archives)

    def test_meta_comes_first(self):
        pack.write(pack.directory(PACKAGE, self.etsi), self.folder / 'a.csar')
        with zipfile.ZipFile(self.folder / 'a.csar') as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual('TOSCA-Metadata/TOSCA.meta',
                             archive.namelist()[0])

    def test_links(self):
        """Links within the package become copies; other links are refused."""
        package = self.copied()
        (package / 'copy').symlink_to('Definitions/vnfd.yaml')
        pack.write(pack.directory(package, self.etsi), self.folder / 'a.csar')
        with zipfile.ZipFile(self.folder / 'a.csar') as archive:
            self.assertEqual(archive.read('Definitions/vnfd.yaml'),
                             archive.read('copy'))
        (package / 'secret').symlink_to('/etc/passwd')
        self.refused(f'{package}: secret: the link leads out of the package; '
                     'replace the link by a copy of the '
                     'file.', pack.directory, package, self.etsi)

    def test_imports_that_lead_out(self):
        package = self.copied()
        outside = self.folder / 'out.yaml'
        outside.write_text('tosca_definitions_version: x\n')
        for name in ('../../out.yaml', str(outside)):
            (package / 'Definitions' / 'vnfd.yaml').write_text(
                f'tosca_definitions_version: x\nimports: [{name}]\n')
            self.refused(
                f"Definitions/vnfd.yaml: imports='{name}': the path leads "
                "out of "
                'the folder of the VNFD; give a path below this folder.',
                pack.directory, package, self.etsi)

    def test_an_import_of_another_folder(self):
        package = self.copied()
        self.assertTrue((package / 'Definitions' / 'vnfd.yaml').is_file())
        types = package / 'types'
        types.mkdir()
        (types / 'mine.yaml').write_text('tosca_definitions_version: x\n')
        (package / 'Definitions' / 'vnfd.yaml').write_text(
            'tosca_definitions_version: x\nimports: [../types/mine.yaml]\n')
        self.assertEqual(
            types / 'mine.yaml',
            pack.directory(package, self.etsi)['types/mine.yaml'])

    def test_files_are_copied_in_parts(self):
        """An image may be larger than the memory."""
        package = self.copied()
        with open(package / 'image', 'wb') as stream:
            stream.truncate(64 << 20)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        pack.write(pack.directory(package, self.etsi), self.folder / 'a.csar')
        self.assertLess(tracemalloc.get_traced_memory()[1], 32 << 20)

    def test_the_target_is_one_of_the_files(self):
        package = self.copied()
        target = package / 'Definitions' / 'vnfd.yaml'
        before = target.read_bytes()
        self.refused('vnfd.yaml: this path is one of the files to pack; give '
                     'a path outside of the package.', pack.write,
                     pack.directory(package, self.etsi), target)
        self.assertEqual(before, target.read_bytes())

    def test_a_name_that_is_not_utf_8(self):
        package = self.copied()
        (pathlib.Path(os.fsdecode(os.fsencode(package) + b'/\xff'))
         ).write_text('x')
        target = self.folder / 'a.csar'
        target.write_text('of before')
        self.refused("'\\udcff': the name of the file is not UTF-8 text; "
                     "rename the file.",
                     pack.write, pack.directory(package, self.etsi), target)
        self.assertEqual('of before', target.read_text())

    def test_no_definitions(self):
        self.refused('etsi: Definitions has no YAML files; put the VNFD into '
                     'this folder.', pack.directory, self.etsi)

    def test_two_entries(self):
        package = self.copied()
        shutil.copy(package / 'Definitions' / 'vnfd.yaml',
                    package / 'Definitions' / 'other.yaml')
        self.refused(
            'package: Definitions has 2 files that no other file imports, '
            'instead of one; name the VNFD in TOSCA-Metadata/TOSCA.meta.',
            pack.directory, package, self.etsi)

    def test_types_that_are_nowhere(self):
        (self.etsi / ETSI[0]).unlink()
        self.refused(
            f"Definitions/vnfd.yaml: imports='{ETSI[0]}': the imported "
            'file does not exist; put it next to the file that imports it, '
            'or give the directory of the SOL001 types as '
            '--etsi-types.', pack.directory, PACKAGE,
            self.etsi)

    def test_it_cannot_be_written(self):
        self.refused('etsi: the file cannot be written (Is a directory); '
                     'give another path.', pack.write, {}, self.etsi)


@ddt.ddt
class LegacyTest(Base):
    def members(self, name, **kwargs):
        return legacy.members(LEGACY / name, etsi=self.etsi, **kwargs)

    def changed(self, name, old, new):
        text = (LEGACY / name).read_text()
        self.assertIn(old, text)
        path = self.folder / name
        path.write_text(text.replace(old, new))
        return path

    def loaded(self, members, name):
        return yaml.safe_load(members[name])

    @ddt.data(('paper-5.1.yaml', 'VDU_A'), ('inputs.yaml', 'VDU_A'),
              ('override.yaml', 'VDU_A'), ('named-flavor.yaml', 'VDU_A'),
              ('ports.yaml', 'VDU_A'))
    @ddt.unpack
    def test_reservation_is_the_same(self, name, vdu):
        members = self.members(name, image='i')
        before = descriptor.read_vdus(
            yaml.safe_load((LEGACY / name).read_text()), where='f')[vdu]
        after = descriptor.read_vdus(
            self.loaded(members, 'Definitions/vnfd.yaml'), where='f')[vdu]
        self.assertEqual((before.hints, before.flavor, before.carrier),
                         (after.hints, after.flavor, after.carrier))

    def test_base_hot_has_it_from_the_vnfd(self):
        members = self.members('paper-5.1.yaml', image='i')
        hot = self.loaded(members, 'BaseHOT/simple/hot.yaml')
        self.assertEqual({'nfv': {'type': 'json'}}, hot['parameters'])
        self.assertEqual(
            {'flavor': {'get_resource': 'VDU_A_flavor'}, 'image': 'i',
             'networks': [{'allocate_network': 'none'}]},
            hot['resources']['VDU_A']['properties'])

    def test_a_request_without_user_data_is_refused(self):
        for name, guarded in (('paper-5.1.yaml', True),
                              ('workload.yaml', False)):
            hot = self.loaded(self.members(name, image='i'),
                              'BaseHOT/simple/hot.yaml')
            self.assertEqual(guarded, 'tacker_rt' in hot['resources'])

    def test_other_hints_stay(self):
        members = self.members('two-vdus-placement.yaml')
        resources = self.loaded(members, 'BaseHOT/simple/hot.yaml')[
            'resources']
        self.assertEqual(
            {'group': {'get_resource': 'apart'}},
            resources['VDU_B']['properties']['scheduler_hints'])
        self.assertEqual('2', resources['VDU_B_flavor']['properties'][
            'extra_specs']['hw:cpu_sockets'])

    def test_no_image(self):
        self.refused('paper-5.1.yaml: VDU VDU_A: the VDU names no image; '
                     'give --image.', self.members, 'paper-5.1.yaml')

    def test_an_input_without_a_value(self):
        path = self.changed('inputs.yaml', '      default: 60000\n', '')
        self.refused(
            'inputs.yaml: VDU VDU_A: the input rt_runtime_us for '
            'cpu.rt_runtime_us has no value; give the input a default.',
            legacy.members, path, etsi=self.etsi)

    def test_no_size(self):
        """SOL001 does not require the capability with the size."""
        tree = yaml.safe_load(
            (PACKAGE / 'Definitions' / 'vnfd.yaml').read_text())
        topology = tree['topology_template']
        del topology['node_templates']['VDU1']['capabilities']
        topology['policies'] = []
        path = self.folder / 'vnfd.yaml'
        path.write_text(yaml.safe_dump(tree))
        self.refused(
            'vnfd.yaml: VDU VDU1: the VDU does not say how many CPUs and how '
            'much memory it has; give the VDU the capability virtual_compute.',
            legacy.members, path, image='i')

    def test_vcpus_as_an_input(self):
        path = self.changed('inputs.yaml', 'num_cpus: 1',
                            'num_cpus: {get_input: rt_runtime_us}')
        self.refused(
            'inputs.yaml: VDU VDU_A: num_cpus is an input; write the number '
            'itself.',
            legacy.members, path, etsi=self.etsi)

    def test_no_vdu(self):
        path = self.changed('paper-5.1.yaml', 'VDU.Tacker', 'VL')
        path.write_text(path.read_text().partition(
            '      capabilities')[0])
        self.refused(
            'paper-5.1.yaml: a VNFD that scales, or that has no VDU, cannot '
            'be packed; write a package with scaling aspects.',
            legacy.members, path, etsi=self.etsi)
