# SPDX-License-Identifier: Apache-2.0

import contextlib
import io
import json
import sys
from unittest import mock

from osc_lib import exceptions

from rt_client import plan
from rt_operate.commands import main
from tests.unit.rt_client import base

QUESTION = ('--arrival-rate', '1000', '--service-rate', '2000',
            '--target-ms', '10')


class PlanTest(base.TestCase):

    def test_the_same_as_nova_rt_plan(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(0, main.main((
                'plan', *QUESTION, '--kernel', 'cbs', '-f', 'json')))
        expected = json.loads(out.getvalue())
        _, row = self.run_command(plan.Plan, *QUESTION)
        self.assertEqual((expected['runtime_us'], expected['period_us']),
                         row[:2])

    def test_it_asks_no_service(self):
        self.run_command(plan.Plan, *QUESTION)
        self.assertEqual([], self.compute.asked + self.placement.asked)

    def test_a_target_that_no_share_meets(self):
        with self.assertRaises(exceptions.CommandError) as found:
            self.run_command(plan.Plan, *QUESTION, '--max-share', '0.1')
        self.assertNotIn('\n', str(found.exception))

    def test_without_the_models(self):
        with mock.patch.dict(sys.modules, {'rt_models.model': None}), (
                self.assertRaisesRegex(
                    exceptions.CommandError,
                    r'install nova-rt\[client,models\]')):
            self.run_command(plan.Plan, *QUESTION)
