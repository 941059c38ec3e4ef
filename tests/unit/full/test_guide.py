# SPDX-License-Identifier: Apache-2.0

"""Each command of the installation guide is run, or has a reason."""

import re

from oslotest import base

from tests.full import guide

#: What the walk runs; a new command of the guide goes here or to LEFT_OUT.
RUNS = {
    'index': ['echo', 'nova-rt', 'nova-rt'],
    'debian': ['pip', 'sed', 'printf', 'sed', 'nova-rt', 'cp'],
}


class CommandsTest(base.BaseTestCase):

    def test_each_has_its_place(self):
        for page, expected in RUNS.items():
            self.assertEqual(expected, [
                command.split()[0] for command in guide.commands(page)
                if guide.why_left_out(command) is None])

    def test_no_reason_is_left_over(self):
        every = [command for page in RUNS for command in guide.commands(page)]
        for begin in guide.LEFT_OUT:
            self.assertTrue(any(command.startswith(begin)
                                for command in every), begin)

    def test_the_walk_has_four_parts(self):
        walk = guide.walk('this.whl')
        self.assertEqual(['install', 'check', 'server', 'remove'],
                         list(walk))
        self.assertIn(' ./this.whl\n', walk['install'])
        self.assertIn('kernel_interface = sched_deadline', walk['install'])
        for name, ends in (('check', 'systemctl'), ('remove', 'systemctl'),
                           ('server', 'nova-rt-manage')):
            self.assertTrue(
                walk[name].splitlines()[-1].startswith(ends), walk[name])
        self.assertFalse(re.search('IMAGE|NETWORK|helper_command',
                                   ''.join(walk.values())))

    def test_the_script_has_the_wheel_and_the_options(self):
        script = guide.script('this.whl')
        self.assertEqual(1, script.count(' ./this.whl\n'))
        self.assertFalse(re.search('<the|\\.\\.\\.', script))
        for option in ('compute_driver = nova_rt', 'helper_command = ',
                       'weight_classes = ', 'rt_cpus = 2-15'):
            self.assertIn(option, script)
