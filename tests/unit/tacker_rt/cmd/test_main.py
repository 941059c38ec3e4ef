# SPDX-License-Identifier: Apache-2.0

"""``tacker-rt validate`` and ``tacker-rt check`` as they are run."""

from importlib import metadata
import json
import os
import pathlib
import subprocess
import sys
from unittest import mock

import fixtures
from nova.api.validation.extra_specs import validators
from toscaparser import tosca_template
from translator.hot import translate_node_templates

from tacker_rt.cmd import check
from tacker_rt.cmd import main
from tests.unit import commands
from tests.unit.tacker_rt import samples

_BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ('nova', 'tacker', 'toscaparser',
                                  'translator') or name.startswith('oslo'):
            raise ImportError(f'{name} is not installed')

sys.meta_path.insert(0, Blocked())
from tacker_rt.cmd import main
sys.exit(main.main(sys.argv[1:]))
"""


class CommandTest(commands.CommandTest):

    main = staticmethod(main.main)


class ValidateTest(CommandTest):

    def test_each_invalid_sample(self):
        for path in samples.INVALID.iterdir():
            status, out, err = self.run_main('validate', str(path))
            self.assertEqual((1, ''), (status, err))
            self.assertTrue(out.startswith(str(path)), out)

    def test_all_invalid_samples_in_one_run(self):
        """The environment can import nothing but PyYAML."""
        names = sorted(os.listdir(samples.INVALID))
        done = subprocess.run(
            [sys.executable, '-c', _BLOCKED, 'validate', *names],
            cwd=samples.INVALID, capture_output=True, check=False)
        expected = []
        for name in names:
            path = samples.INVALID / name
            path = path if path.is_file() else path / 'Definitions/vnfd.yaml'
            expected += [
                line.removeprefix(b'# expect: ').decode()
                for line in path.read_bytes().splitlines()
                if line.startswith(b'# expect: ')]
        self.assertEqual((1, b''), (done.returncode, done.stderr))
        self.assertEqual(expected, done.stdout.decode().splitlines())

    def test_without_numpy(self):
        """A response time does not need numpy either."""
        done = subprocess.run(
            [sys.executable, '-c', "import sys; sys.modules['numpy'] = None"
             + _BLOCKED, 'validate', 'response-time-unreachable.yaml',
             '../legacy/paper-5.1.yaml'],
            cwd=samples.INVALID, capture_output=True, text=True, check=False)
        self.assertEqual((1, ''), (done.returncode, done.stderr))
        told, other = done.stdout.splitlines()
        self.assertIn('the most that is allowed, the response time is '
                      '7000.23 us', told)
        self.assertEqual('../legacy/paper-5.1.yaml: no problem', other)

    def test_valid(self):
        paths = list(map(str, samples.valid()))
        status, out, err = self.run_main('validate', *paths)
        self.assertEqual((0, ''), (status, err))
        self.assertEqual([f'{path}: no problem' for path in paths],
                         out.splitlines())

    def test_with_a_request(self):
        folder = samples.SAMPLES / 'sol001-hints'
        package, asked = folder / 'package', folder / 'requests'
        for name, told in (
                ('instantiate-more', f'{package}: no problem'),
                ('none', 'none.json: the file cannot be read (No such file '
                 'or directory); give the path of a file.')):
            status, out, _ = self.run_main(
                'validate', str(package), '--request',
                str(asked / f'{name}.json'))
            self.assertEqual((int(name == 'none'), told),
                             (status, out.strip()))
        made = samples.SAMPLES / 'sol001-made-flavor/requests'
        status, out, _ = self.run_main(
            'validate', str(samples.SAMPLES / 'legacy' / 'named-flavor.yaml'),
            '--request', str(made / 'instantiate.json'))
        self.assertEqual(
            (1, 'additionalParams: VDU VDU1: the VNFD has no such VDU; use '
             'VDU_A.\n'), (status, out))

    def test_json(self):
        path = str(samples.INVALID / 'policy-unit.yaml')
        status, out, _ = self.run_main('validate', path, '-f', 'json')
        self.assertEqual(1, status)
        rule = 'it must be a positive whole number of microseconds'
        advice = 'give for example 100000 for 100 ms'
        self.assertEqual({'warnings': [], 'problems': [{
            'file': path, 'vdu': 'VDU1', 'policy': 'reserved',
            'key': 'runtime_us', 'value': "'60 ms'", 'rule': rule,
            'advice': advice, 'text': f'{path}: VDU VDU1: policy reserved: '
            f"runtime_us='60 ms': {rule}; {advice}."}]}, json.loads(out))
        status, out, _ = self.run_main('validate', '-f', 'json',
                                       str(samples.valid()[0]))
        self.assertEqual((0, {'problems': [], 'warnings': []}),
                         (status, json.loads(out)))

    def test_what_cannot_be_read_is_a_problem_among_others(self):
        path = str(samples.INVALID / 'legacy-zero.yaml')
        status, out, err = self.run_main('validate', '/no/where', path)
        self.assertEqual((1, ''), (status, err))
        lines = out.splitlines()
        self.assertEqual(2, len(lines))
        self.assertTrue(lines[0].startswith('/no/where: this is not a CSAR'))

    def test_odd_names(self):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = os.fsencode(folder) + b'/a\n\xff.yaml'
        done = subprocess.run(
            [sys.executable, '-c', _BLOCKED, 'validate', path],
            capture_output=True, check=False)
        self.assertEqual((1, b''), (done.returncode, done.stderr))
        self.assertEqual(1, len(done.stdout.splitlines()))

    def test_usage(self):
        for argv in ((), ('validate',), ('valid', 'x'),
                     ('validate', '-f', 'x', 'y')):
            status, out, err = self.run_main(*argv)
            self.assertEqual((3, ''), (status, out))
            self.assertIn('usage: tacker-rt', err)


class CheckTest(CommandTest):

    def lines(self, status):
        actual, out, err = self.run_main('check')
        self.assertEqual((status, ''), (actual, err))
        return {line.split()[1].rstrip(':'): line
                for line in out.splitlines()}

    def test_ok(self):
        for line in self.lines(0).values():
            self.assertTrue(line.startswith('ok '), line)

    def test_json(self):
        status, out, _ = self.run_main('check', '-f', 'json')
        findings = json.loads(out)['findings']
        self.assertEqual((0, 4), (status, len(findings)))
        self.assertEqual({'ok'}, {one['status'] for one in findings})

    def test_nothing_is_installed(self):
        with mock.patch.object(metadata, 'version',
                               side_effect=metadata.PackageNotFoundError):
            lines = self.lines(1)
        self.assertEqual('missing tacker: the package is not installed',
                         lines['tacker'])

    def test_only_nova_is_installed(self):
        def version(name):
            if name != 'nova':
                raise metadata.PackageNotFoundError
            return '34.0.0'

        with mock.patch.object(metadata, 'version', version):
            self.lines(0)

    def test_no_entry_point(self):
        with mock.patch.object(metadata, 'entry_points', return_value=()):
            line = self.lines(1)['tosca-parser']
        self.assertRegex(line, 'failed  tosca-parser: .*: tacker_rt has no '
                         'entry point in toscaparser.extensions; install')

    def test_extension_was_not_loaded(self):
        tools = tosca_template.ToscaTemplate.exttools
        with mock.patch.object(tools, 'EXTENSION_INFO', {}):
            line = self.lines(1)['tosca-parser']
        self.assertIn('tosca-parser did not load tacker_rt.extension', line)

    def test_class_was_not_registered(self):
        types = dict(translate_node_templates.TOSCA_TO_HOT_TYPE)
        del types['tosca.nodes.nfv.VDU.Tacker']
        with mock.patch.object(translate_node_templates,
                               'TOSCA_TO_HOT_TYPE', types):
            line = self.lines(1)['heat-translator']
        self.assertIn('tosca.nodes.nfv.VDU.Tacker is not translated by '
                      'tacker_rt.heat', line)

    def test_untested_tacker(self):
        with mock.patch.object(metadata, 'version', return_value='14.0.0'):
            line = self.lines(1)['tacker']
        self.assertIn('14.0.0: only Tacker 15 to 16 are tested', line)

    def test_validators_are_missing(self):
        with mock.patch.dict(validators.VALIDATORS, clear=True):
            line = self.lines(1)['nova']
        self.assertIn('refuses flavors with hw:cpu.rt_runtime_us', line)

    def test_import_fails(self):
        # Only there: the command itself imports its subcommands.
        with mock.patch.object(check, 'importlib') as importlib:
            importlib.import_module.side_effect = ImportError('no lxml')
            line = self.lines(1)['nova']
        self.assertIn('the package cannot be loaded (ImportError: no '
                      'lxml)', line)
