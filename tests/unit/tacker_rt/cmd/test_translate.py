# SPDX-License-Identifier: Apache-2.0

"""Tests ``tacker-rt translate`` and ``tacker-rt pack``."""

import contextlib
import io
import json
import pathlib
import shutil
import zipfile

import fixtures
from oslotest import base
import yaml

from tacker_rt.cmd import main
from tacker_rt.cmd import translate
from tests.unit.tacker_rt import samples

PAPER = str(samples.SAMPLES / 'legacy' / 'paper-5.1.yaml')
INPUTS = str(samples.SAMPLES / 'legacy' / 'inputs.yaml')
SCALING = str(samples.SAMPLES / 'sol001-scaling' / 'package' / 'Definitions'
              / 'vnfd.yaml')
NESTED = 'VDU1_scale.hot.yaml'


class Base(base.BaseTestCase):
    def setUp(self):
        super().setUp()
        self.folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)

    def run_command(self, *argv):
        """Exit status, stdout, stderr."""
        out, err = io.StringIO(), io.StringIO()
        with (contextlib.redirect_stdout(out),
              contextlib.redirect_stderr(err)):
            try:
                status = main.main([str(word) for word in argv])
            except SystemExit as error:
                status = error.code
        return status, out.getvalue(), err.getvalue()


class TranslateTest(Base):
    def test_the_papers_example(self):
        status, out, err = self.run_command('translate', PAPER)
        self.assertEqual((0, ''), (status, err))
        self.assertIn('cpu.rt_runtime_us: 60000\n', out)
        self.assertIn('cpu.rt_period_us: 100000\n', out)
        self.assertEqual({'VDU_A', 'VDU_A_flavor'},
                         set(yaml.safe_load(out)['resources']))

    def test_with_a_request(self):
        folder = samples.SAMPLES / 'sol001-made-flavor'
        status, out, err = self.run_command(
            'translate', '--request', folder / 'requests/instantiate.json',
            folder / 'package/Definitions/vnfd.yaml')
        self.assertEqual((0, ''), (status, err))
        self.assertIn('hw:cpu.rt_runtime_us: 60000', out)
        self.assertNotIn('scheduler_hints', out)
        status, out, err = self.run_command(
            'translate', '--request', self.folder / 'none', PAPER)
        self.assertEqual(
            (1, '', 'none: the file cannot be read (No such file or '
             'directory); give the path of a file.\n'), (status, out, err))

    def test_image_and_input(self):
        _, out, _ = self.run_command('translate', '--image', 'i', PAPER)
        self.assertIn('image: i\n', out)
        _, out, _ = self.run_command('translate', '--input',
                                     'rt_runtime_us=70000', INPUTS)
        self.assertEqual(
            70000, yaml.safe_load(out)['parameters']['rt_runtime_us'][
                'default'])

    def test_inputs_are_read_as_in_a_vnfd(self):
        for value in ('060000', '0100', '1:30'):
            status, out, err = self.run_command(
                'translate', '--input', f'rt_runtime_us={value}', INPUTS)
            self.assertEqual((3, ''), (status, out))
            self.assertIn(f'YAML reads {value} as another number', err)
        for value, read in (('70000', 70000), ("'70000'", '70000'),
                            ('{a', '{a'), ('a: b', 'a: b')):
            self.assertEqual(('x', read), translate._input(f'x={value}'))

    def test_an_input_that_nobody_declares(self):
        self.assertEqual(
            (1, '', 'inputs.yaml: rt_runtime: the VNFD has no such input; '
             'did you mean rt_runtime_us?\n'),
            self.run_command('translate', '--input', 'rt_runtime=5', INPUTS))

    def test_nested_templates(self):
        self.assertEqual(
            (1, '', 'vnfd.yaml: the VNFD needs several templates (also '
             f'{NESTED}); give --output-dir.\n'),
            self.run_command('translate', SCALING))
        self.assertEqual(
            (0, '', ''), self.run_command('translate', '--output-dir',
                                          self.folder / 'a' / 'b', SCALING))
        self.assertEqual({'hot.yaml', NESTED}, {
            path.name for path in (self.folder / 'a' / 'b').iterdir()})

    def test_output_directory_is_a_file(self):
        path = self.folder / 'a'
        path.write_text('mine')
        self.assertEqual(
            (1, '', f'{path}: the templates cannot be written there (File '
             'exists); give another directory.\n'),
            self.run_command('translate', '--output-dir', path, PAPER))
        self.assertEqual('mine', path.read_text())

    def test_what_is_wrong_is_one_line(self):
        for path in sorted(samples.INVALID.glob('*.yaml')):
            status, out, err = self.run_command('translate', path)
            with self.subTest(path.name):
                self.assertEqual((1, ''), (status, out))
                self.assertEqual(1, err.count('\n'), err)

    def test_usage(self):
        for argv in (('translate',), ('translate', '--input', 'x', PAPER)):
            status, _, err = self.run_command(*argv)
            self.assertEqual(3, status)
            self.assertIn('error: ', err)


class PackTest(Base):
    def test_legacy(self):
        target = self.folder / 'a.csar'
        self.assertEqual((0, '', ''), self.run_command(
            'pack', '--image', 'i', PAPER, target))
        self.assertEqual((0, f'{target}: no problem\n', ''),
                         self.run_command('validate', target))

    def test_for_programs(self):
        target = self.folder / 'a.csar'
        status, out, err = self.run_command(
            'pack', '-f', 'json', '--image', 'i', PAPER, target)
        self.assertEqual((0, ''), (status, err))
        self.assertEqual({'package': str(target), 'warnings': []},
                         json.loads(out))

    def test_directory(self):
        target = self.folder / 'a.csar'
        self.assertEqual((0, '', ''), self.run_command(
            'pack', samples.SAMPLES / 'sol001-hints' / 'package', target))
        self.assertTrue(zipfile.is_zipfile(target))
        self.assertEqual((0, f'{target}: no problem\n', ''),
                         self.run_command('validate', target))

    def test_what_is_wrong(self):
        self.assertEqual(
            (1, '', 'paper-5.1.yaml: VDU VDU_A: the VDU names no image; give '
             '--image.\n'),
            self.run_command('pack', PAPER, self.folder / 'a.csar'))
        self.assertEqual([], list(self.folder.iterdir()))

    def test_target_is_the_source_or_within(self):
        package = self.folder / 'package'
        shutil.copytree(samples.SAMPLES / 'sol001-hints' / 'package', package)
        vnfd = self.folder / 'vnfd.yaml'
        shutil.copy(PAPER, vnfd)
        for source, target in ((vnfd, vnfd), (package, package / 'a.csar')):
            before = sorted(self.folder.rglob('*')), vnfd.read_bytes()
            self.assertEqual(
                (1, '', f'{target}: the CSAR must not be the source, or lie '
                 f'in the source ({source}); give a path outside of the '
                 'source.\n'),
                self.run_command('pack', '--image', 'i', source, target))
            self.assertEqual(before, (sorted(self.folder.rglob('*')),
                                      vnfd.read_bytes()))
