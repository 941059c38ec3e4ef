# SPDX-License-Identifier: Apache-2.0

"""The dashboard and the alerts name only metrics that there are."""

import json
import pathlib
import re
import unittest

import yaml

from nova_rt.monitor import metrics
from tests.unit.monitor import test_exposition

_FOLDER = pathlib.Path(__file__).parents[3] / 'etc/grafana'
_METRIC = re.compile(r'\bnova_rt_\w+')


def known():
    """All metrics, with those that a histogram is made of."""
    found = set()
    for family in metrics.families(test_exposition.full()):
        found |= {f'{family.name}{suffix}' for suffix in (
            ('_bucket', '_count', '_sum') if family.kind == 'histogram'
            else ('',)) if family.lines}
    return found


class GrafanaTest(unittest.TestCase):

    def assert_known(self, expressions):
        used = {name for each in expressions for name in
                _METRIC.findall(each)}
        self.assertTrue(used)
        self.assertEqual(set(), used - known())

    def test_dashboard(self):
        found = json.loads((_FOLDER / 'nova-rt-servers.json').read_text())
        self.assert_known([
            target['expr'] for panel in found['panels']
            for target in panel['targets']] + [
                variable['query']['query']
                for variable in found['templating']['list']
                if variable['type'] == 'query'])
        numbers = [panel['id'] for panel in found['panels']]
        self.assertEqual(len(numbers), len({*numbers}))

    def test_alerts(self):
        text = (_FOLDER / 'nova-rt-alerts.yaml').read_text()
        rules = [rule for group in yaml.safe_load(text)['groups']
                 for rule in group['rules']]
        self.assert_known(rule['expr'] for rule in rules)
        for rule in rules:
            self.assertIn('summary', rule['annotations'])
