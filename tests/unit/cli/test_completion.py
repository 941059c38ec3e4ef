# SPDX-License-Identifier: Apache-2.0

import shutil
import subprocess
import unittest

from rt_operate.commands import main
from rt_operate.commands import manage
from tests.unit import commands

#: Completes the last of some words, as bash does, and prints the answers.
_COMPLETE = '''
{script}
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_{function}
printf '%s\\n' "${{COMPREPLY[@]}}"
'''


@unittest.skipUnless(shutil.which('bash'), 'there is no bash')
class CompletionTest(commands.CommandTest):
    """Bash itself runs the script."""

    def complete(self, module, *words):
        self.main = module.main
        status, script, err = self.run_main('complete')
        self.assertEqual((0, ''), (status, err))
        return subprocess.run(
            ['bash', '-c', _COMPLETE.format(
                script=script, function=words[0].replace('-', '_')),
             'bash', *words], check=True, capture_output=True, text=True,
            ).stdout.split()

    def test_subcommands(self):
        found = self.complete(main, 'nova-rt', '')
        self.assertLess({'doctor', 'plan', 'top', 'complete', '--version'},
                        {*found})
        self.assertEqual(['doctor'], self.complete(main, 'nova-rt', 'do'))
        self.assertEqual(['check', 'complete'], self.complete(
            manage, 'nova-rt-manage', 'c'))

    def test_subcommands_below_subcommands(self):
        self.assertEqual(['show'], self.complete(
            main, 'nova-rt', 'interference', 's'))

    def test_options(self):
        self.assertEqual(['--once'], self.complete(
            main, 'nova-rt', 'top', '--on'))
        self.assertEqual(['--apply'], self.complete(
            manage, 'nova-rt-manage', 'heal', '--host', 'x', '--a'))

    def test_choices_of_an_option(self):
        self.assertEqual(['yaml'], self.complete(
            main, 'nova-rt', 'doctor', '-f', 'y'))
        self.assertEqual(['flavor'], self.complete(
            main, 'nova-rt', 'top', '--by', 'f'))

    def test_files_where_nothing_else_fits(self):
        self.assertIn('setup.cfg', self.complete(
            main, 'nova-rt', 'doctor', '--config-file', 'setup.c'))
