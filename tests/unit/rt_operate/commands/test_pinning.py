# SPDX-License-Identifier: Apache-2.0

"""``nova-rt pinning``."""

import json

from rt_operate.commands import main
from tests.unit import commands

ASK = ('pinning', '--app-class', 'cpu', '--vcpus', '2', '--host-cores', '16',
       '112')
FLAVOR = ('openstack flavor create cpu-2 --vcpus 2 --ram 512 && '
          'openstack flavor set cpu-2 --property hw:cpu.app_class=cpu')


class PinningTest(commands.CommandTest):

    main = staticmethod(main.main)

    def test_text(self):
        status, out, err = self.run_main(*ASK)
        self.assertEqual((0, ''), (status, err))
        self.assertTrue(out.startswith('Placement: reserved\nBecause: A '))
        self.assertIn('(paper 001, best practice 1)', out)
        self.assertIn('  0.125 on 16 cores: in the range\n', out)
        self.assertIn('  0.018 on 112 cores: give it 8 vCPUs, or take '
                      'smaller hosts\n', out)
        self.assertIn('one host with 112 cores, in steps of a factor of two',
                      out)
        self.assertEqual(
            f'{FLAVOR} --property hw:cpu.rt_runtime_us=95000 --property '
            f'hw:cpu.rt_period_us=100000', out.splitlines()[-1])

    def test_json(self):
        found = json.loads(self.run_main(
            *ASK, '--no-reservations', '--no-dedicated', '-f', 'json')[1])
        self.assertEqual('shared', found['placement'])
        self.assertEqual([0.07, 0.14], found['chr_range'])
        self.assertEqual(['chr'], [each['name']
                                   for each in found['reasons']])
        self.assertEqual([True, False], [host['in_range']
                                         for host in found['hosts']])
        self.assertEqual(FLAVOR, found['flavor'])
        self.assertIn('112 cores', found['caveat'])

    def test_refused(self):
        for argv, words in (
                (('--vcpus', '0'), 'Invalid --vcpus 0: it must be 1 to'),
                (('--host-cores', '-3'), 'Invalid --host-cores -3')):
            status, out, err = self.run_main(*ASK, *argv)
            self.assertEqual((1, ''), (status, out))
            self.assertIn(words, err)

    def test_usage(self):
        for argv in (ASK[:3], (*ASK, '--app-class', 'disk'),
                     (*ASK, '--vcpus', 'x')):
            self.assertEqual(3, self.run_main(*argv)[0])
