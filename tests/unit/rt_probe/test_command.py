# SPDX-License-Identifier: Apache-2.0

import json
import signal
import subprocess
import sys

import ddt
import fixtures

from rt_probe import command
from tests.unit import commands

_PROBE = (sys.executable, '-W', 'ignore', '-m', 'rt_probe')


@ddt.ddt
class CommandTest(commands.CommandTest):

    main = staticmethod(command.main)

    def setUp(self):
        super().setUp()
        handler = signal.getsignal(signal.SIGTERM)
        self.addCleanup(signal.signal, signal.SIGTERM, handler)

    @ddt.data(
        (['--interval', 'x'], "'x' is not a number from 0.05 to 3600 seconds"),
        (['--interval', '0'], "'0' is not a number from 0.05 to 3600 seconds"),
        (['--interval', 'nan'],
         "'nan' is not a number from 0.05 to 3600 seconds"),
        (['--max-load', '1'],
         "'1' is not a number from 0.0001 to 0.5 of the reservation"),
        (['--max-load', '-1'], 'max-load'),
        (['--burst', 'always'], "invalid choice: 'always'"),
        (['--period-us', '0'],
         "'0' is not a number from 100 to 4.1943e+06 microseconds"),
        (['--pid', '-3'], 'pid'),
        (['--pid', '0'], "'0' is not a process ID"),
        (['--pid', 'nginx'], "'nginx' is not a process ID"),
        (['--listen', '127.0.0.1'],
         "'127.0.0.1' is not of the form [ADDRESS:]PORT, for example "
         "127.0.0.1:9105"),
        (['--listen', '1:70000'],
         "'1:70000' is not of the form [ADDRESS:]PORT"),
        (['--textfile', '/tmp/a'], "'/tmp/a' does not end with .prom"),
        (['--textfile', 'a.prom', '--listen', '1'], 'not allowed with'))
    @ddt.unpack
    def test_usage(self, arguments, sentence):
        status, out, err = self.run_main('run', *arguments)
        self.assertEqual((3, ''), (status, out))
        self.assertIn(sentence, err.splitlines()[-1])

    @ddt.data((), ('unknown',), ('calibrate',), ('bundle',))
    def test_no_command(self, arguments):
        status, out, err = self.run_main(*arguments)
        self.assertEqual((3, ''), (status, out))
        self.assertIn('usage: rt-probe', err)

    @ddt.data(
        (['once', '--pid', '4194304'],
         'rt-probe: --pid 4194304: there is no process with this ID here; '
         'a probe in another container than the VNF must share its PID '
         'namespace\n'),
        (['once', '--calibration', '/proc/no/file'],
         'rt-probe: /proc/no/file cannot be read: No such file or '
         'directory\n'),
        (['calibrate', '/proc/no/file'],
         'rt-probe: /proc/no/file cannot be written: No such file or '
         'directory\n'),
        (['run', '--textfile', '/proc/no/a.prom', '--interval', '0.05'],
         'rt-probe: /proc/no/a.prom cannot be written: No such file or '
         'directory\n'),
        (['run', '--listen', '192.0.2.1:9105'],
         'rt-probe: 192.0.2.1:9105 cannot be listened on: Cannot assign '
         'requested address\n'))
    @ddt.unpack
    def test_one_sentence(self, arguments, sentence):
        self.assertEqual((1, '', sentence), self.run_main(*arguments))

    def test_once(self):
        status, out, err = self.run_main('once', '--interval', '0.05')
        self.assertEqual((0, ''), (status, err))
        self.assertIn(json.loads(out)['method'], ('throttled', 'bound'))

    def test_calibrate_and_speed(self):
        path = self.useFixture(fixtures.TempDir()).join('calibration')
        self.assertEqual(0, self.run_main('calibrate', path)[0])
        _, out, _ = self.run_main('once', '--interval', '0.05',
                                  '--calibration', path)
        self.assertEqual({'sha256', 'memory'}, set(json.loads(out)['speed']))

    def test_run_until_sigterm(self):
        with subprocess.Popen([*_PROBE, 'run', '--interval', '0.05'],
                              stdout=subprocess.PIPE, text=True) as process:
            lines = [json.loads(process.stdout.readline()) for _ in range(3)]
            process.terminate()
        self.assertEqual(0, process.returncode)
        self.assertLess(lines[0]['at'], lines[2]['at'])

    def test_reader_that_goes_away(self):
        with subprocess.Popen([*_PROBE, 'run', '--interval', '0.05'],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            process.stdout.readline()
            process.stdout.close()
            self.assertEqual('', process.stderr.read())
        self.assertEqual(1, process.returncode)
