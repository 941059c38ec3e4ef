# SPDX-License-Identifier: Apache-2.0

"""rt_operate.commands.main and ``nova-rt doctor``."""

import contextlib
import io
import json
import subprocess
import sys
from unittest import mock

from nova_rt.machine.host import files as host_files
from nova_rt.rules import exception
from rt_operate.commands import main
from rt_operate.doctor import command
from rt_operate.doctor import options
from tests.unit.rt_operate.doctor import base
from tests.unit.rt_operate.doctor import kernels

_BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ('nova', 'libvirt') or name.startswith(
                'oslo'):
            raise ImportError(f'{name} is not installed')

sys.meta_path.insert(0, Blocked())
from rt_operate.commands import main
sys.exit(main.main(['doctor', '-f', 'json']))
"""


#: A host without a finding.
GOOD = {**kernels.F1, **base.MAPPED}


class MainTest(base.DoctorTest):

    virt_type = 'kvm'

    def run_main(self, *argv, files=GOOD):
        """(status, standard output, standard error)"""
        out, err = io.StringIO(), io.StringIO()
        host = self.host(files)
        with (mock.patch.object(host_files, 'Host', lambda: host),
              mock.patch.object(options, 'load', self.load),
              contextlib.redirect_stdout(out),
              contextlib.redirect_stderr(err)):
            try:
                status = main.main(argv)
            except SystemExit as error:
                status = error.code
        return status, out.getvalue(), err.getvalue()

    def load(self, files):
        self.files = files
        return options.Options(min_runtime_us=4_000,
                               virt_type=self.virt_type)

    def test_ok(self):
        status, out, err = self.run_main('doctor')
        self.assertEqual((0, ''), (status, err))
        self.assertRegex(out, r'\n0 problems, 0 warnings, \d+ OK\n$')
        self.assertEqual([], self.files)

    def test_warnings(self):
        files = {**GOOD, **base.f1_group('/x', 1_000)}
        self.assertEqual(1, self.run_main('doctor', files=files)[0])

    def test_problems(self):
        self.virt_type = 'lxc'
        status, out, _ = self.run_main('doctor', files=base.MAINLINE)
        self.assertEqual(2, status)
        self.assertTrue(out.startswith('PROBLEMS\n'))

    def test_json(self):
        status, out, _ = self.run_main('doctor', '-f', 'json')
        self.assertEqual(0, status)
        found = json.loads(out)
        self.assertEqual('rt_group_sched', found['interface'])
        self.assertEqual(950_000, found['capacity_ppm'])
        self.assertEqual(len(found['findings']), found['summary']['ok'])

    def test_json_without_an_interface(self):
        self.virt_type = 'lxc'
        status, out, _ = self.run_main('doctor', '-f', 'json',
                                       files=base.MAINLINE)
        self.assertEqual(2, status)
        found = json.loads(out)
        self.assertIsNone(found['interface'])
        self.assertIsNone(found['capacity_ppm'])

    def test_json_of_a_host_that_is_not_enforced(self):
        _, out, _ = self.run_main(
            'doctor', '-f', 'json', files={**kernels.F1, base.SYSCTL: '-1'})
        self.assertIsNone(json.loads(out)['capacity_ppm'])

    def test_config_files(self):
        self.run_main('doctor', '--config-file', 'a', '--config-file', 'b')
        self.assertEqual(['a', 'b'], self.files)

    def test_usage(self):
        for argv in ((), ('doctr',), ('doctor', '--nosuch')):
            status, out, err = self.run_main(*argv)
            self.assertEqual((3, ''), (status, out))
            self.assertIn('usage: nova-rt', err)

    def test_own_errors(self):
        error = exception.InvalidClaim(identifier='x', reason='it is odd')
        with mock.patch.object(command.examine, 'examine',
                               side_effect=error):
            self.assertEqual((1, '', f'nova-rt: {error}\n'),
                             self.run_main('doctor'))

    def test_interrupted(self):
        with mock.patch.object(command.examine, 'examine',
                               side_effect=KeyboardInterrupt):
            self.assertEqual((130, '', ''), self.run_main('doctor'))

    def test_nobody_reads_on(self):
        """The reader ends first, as in ``nova-rt doctor | head``."""
        program = ('import sys\nfrom rt_operate.commands import main\n'
                   'sys.exit(main.main(["doctor"]))')
        child = subprocess.Popen([sys.executable, '-c', program],
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        child.stdout.close()
        self.assertEqual(b'', child.stderr.read())
        child.stderr.close()
        self.assertEqual(1, child.wait())

    def test_without_nova_and_oslo(self):
        done = subprocess.run([sys.executable, '-c', _BLOCKED],
                              capture_output=True, text=True, check=False)
        self.assertEqual('', done.stderr)
        self.assertIn(done.returncode, (0, 1, 2))
        crashed = [one for one in json.loads(done.stdout)['findings']
                   if 'could not be' in one['text']
                   or 'not installed' in one['text']]
        self.assertEqual([], crashed)
