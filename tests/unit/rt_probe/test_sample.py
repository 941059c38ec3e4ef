# SPDX-License-Identifier: Apache-2.0

"""The package that has the probe as user data."""

import pathlib
import shlex

from oslotest import base
import yaml

from rt_probe import command

SAMPLE = (pathlib.Path(__file__).parents[3] / 'tosca-samples/sol001-probe'
          / 'package')


class SampleTest(base.BaseTestCase):

    def test_the_unit_is_a_right_command_for_the_reservation(self):
        hot = yaml.safe_load(
            (SAMPLE / 'BaseHOT/simple/nested/VDU1.yaml').read_text())
        properties = hot['resources']['VDU1']['properties']
        text = properties['user_data']
        self.assertTrue(text.startswith('#cloud-config\n'))
        file, = yaml.safe_load(text)['write_files']
        start, = (line.partition('=')[2]
                  for line in file['content'].splitlines()
                  if line.startswith('ExecStart='))
        self.assertIn('-m rt_probe run', start)
        words = shlex.split(start)
        args = command._parser().parse_args(words[words.index('run'):])
        vnfd = (SAMPLE / 'Definitions/vnfd.yaml').read_text()
        self.assertIn(f"cpu.rt_period_us: '{args.period_us // 1000}'", vnfd)
        self.assertEqual('127.0.0.1', args.listen[0])
