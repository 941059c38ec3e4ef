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
        self.assertIn('\n16 cores\n112 cores\n', out)
        self.assertNotIn('CHR', out)
        self.assertEqual(
            f'{FLAVOR} --property hw:cpu.rt_runtime_us=95000 --property '
            f'hw:cpu.rt_period_us=100000', out.splitlines()[-1])

    def test_shared(self):
        out = self.run_main(*ASK, '--no-reservations', '--no-dedicated')[1]
        self.assertIn('16 cores\n  CHR 0.125, which should be 0.07 to 0.14 or '
                      'more\n', out)
        self.assertIn('112 cores\n  CHR 0.018, which should be 0.07 to '
                      '0.14 or more: give the server 8 vCPUs, or use smaller '
                      'hosts\n', out)
        self.assertIn('one host with 112 cores, in steps of a factor of two',
                      out)

    def test_this_host(self):
        out = self.run_main(*ASK[:3], '--vcpus', '1')[1]
        self.assertRegex(out, r'\nthis host: \d+ sockets?, \d+ last-level')

    def test_no_such_host(self):
        status, out, err = self.run_main(*ASK[:5], '--host', '/proc/1/comm')
        self.assertEqual((1, ''), (status, out))
        self.assertIn('Invalid --host /proc/1/comm: it must be a folder', err)

    def test_no_host_is_large_enough(self):
        status, out, err = self.run_main(*ASK, '--vcpus', '113')
        self.assertEqual((1, ''), (status, out))
        self.assertIn('Invalid --vcpus 113: it must be 1 to 112, the pCPUs '
                      'of the largest host', err)

    def test_json(self):
        found = json.loads(self.run_main(
            *ASK, '--no-reservations', '--no-dedicated', '-f', 'json')[1])
        self.assertEqual('shared', found['placement'])
        self.assertEqual([0.07, 0.14], found['chr_range'])
        self.assertEqual(['chr'], [each['name']
                                   for each in found['reasons']])
        self.assertEqual([16, 112], [host['pcpus']
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
