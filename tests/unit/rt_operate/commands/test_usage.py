# SPDX-License-Identifier: Apache-2.0

"""All commands share the status of wrong usage and the JSON options."""

import testscenarios

from rt_operate.commands import main
from rt_operate.commands import manage
from rt_operate.commands import status
from tacker_rt.cmd import main as tacker
from tests.unit import commands

USAGE = 3
COMMANDS = {
    'nova-rt': (main, ('advise', 'conformance', 'doctor', 'graph', 'monitor',
                       'plan', 'predict', 'release', 'top')),
    'nova-rt-manage': (manage, ('check', 'heal', 'hint')),
    'nova-rt-status': (status, ('upgrade', 'upgrade check')),
    'tacker-rt': (tacker, ('validate', 'translate', 'pack', 'check'))}
#: They change something, or have subcommands, and print no result.
NO_JSON = ('heal', 'hint', 'release', 'upgrade', 'translate', 'pack',
           'top', 'graph')


class UsageTest(testscenarios.WithScenarios, commands.CommandTest):

    scenarios = [
        (name, {'prog': name, 'main': staticmethod(module.main),
                'subcommands': subcommands})
        for name, (module, subcommands) in COMMANDS.items()]

    def test_wrong_usage(self):
        for argv in ((), ('nosuch',), ('--nosuch',), *(
                (*words.split(), '--nosuch') for words in self.subcommands)):
            found, out, err = self.run_main(*argv)
            self.assertEqual((USAGE, ''), (found, out), argv)
            self.assertIn(f'usage: {self.prog}', err)
            self.assertIn(': error: ', err)

    def test_help(self):
        for words in ('', *self.subcommands):
            found, out, err = self.run_main(*words.split(), '--help')
            self.assertEqual((0, ''), (found, err))
            self.assertTrue(out.startswith(f'usage: {self.prog}'))

    def test_help_tells_each_exit_status(self):
        for words in set(self.subcommands).difference({'upgrade'}):
            _, out, _ = self.run_main(*words.split(), '--help')
            text = ' '.join(out.split())
            self.assertRegex(text, '(?i)exit status: 0 .*, 3 wrong usage',
                             words)

    def test_json(self):
        for words in set(self.subcommands).difference(NO_JSON):
            _, out, _ = self.run_main(*words.split(), '--help')
            self.assertIn('-f {text,json', out, words)
            if self.prog in ('nova-rt', 'nova-rt-manage'):
                self.assertIn('-f {text,json,yaml', out, words)

    def test_lists(self):
        """Commands that list have the formats of openstack."""
        for words in {'doctor', 'top', 'conformance', 'release', 'check',
                      'heal'}.intersection(self.subcommands):
            if self.prog != 'tacker-rt':
                _, out, _ = self.run_main(*words.split(), '--help')
                self.assertIn('-f {text,json,yaml,csv,value,table}',
                              ' '.join(out.split()), words)

    def test_json_as_it_was_called(self):
        for words in {'doctor', 'check', 'upgrade check'}.intersection(
                self.subcommands):
            if self.prog != 'tacker-rt':
                _, out, _ = self.run_main(*words.split(), '--help')
                self.assertIn('--json', out, words)
