# SPDX-License-Identifier: Apache-2.0

"""The dashboard and the alerts name only existing metrics."""

import json
import pathlib
import re
import tempfile
import unittest

import yaml

from nova_rt.rules import report
from rt_monitor import compute
from rt_monitor import metrics
from tests.unit.rt_monitor import test_compute
from tests.unit.rt_monitor import test_exposition

_FOLDER = pathlib.Path(__file__).parents[3] / 'etc/grafana'
_PAGE = (pathlib.Path(__file__).parents[3]
         / 'doc/source/admin/monitoring.rst')
_RUNBOOKS = _PAGE.with_name('runbooks.rst')
_METRIC = re.compile(r'\bnova_rt_\w+')


def known():
    """Returns all metrics, each with the names of its samples."""
    return {family.name: {f'{family.name}{suffix}' for suffix in (
        ('_bucket', '_count', '_sum') if family.kind == 'histogram'
        else ('',))} for family in (
            *metrics.families(test_exposition.full()), *of_compute())
        if family.lines}


def of_compute():
    with tempfile.NamedTemporaryFile('w') as file:
        file.write(report.dump(test_compute.REPORT))
        file.flush()
        return list(compute.families(file.name))


def dashboard():
    return json.loads((_FOLDER / 'nova-rt-servers.json').read_text())


def rules():
    text = (_FOLDER / 'nova-rt-alerts.yaml').read_text()
    return [rule for group in yaml.safe_load(text)['groups']
            for rule in group['rules']]


def shown():
    """Returns the expressions of the panels."""
    return [target['expr'] for panel in dashboard()['panels']
            for target in panel.get('targets', [])]


def names(expressions):
    return {name for each in expressions for name in _METRIC.findall(each)}


class GrafanaTest(unittest.TestCase):

    def test_each_metric_is_on_its_page(self):
        """The page has the whole name, or the end after an earlier name."""
        text = _PAGE.read_text()
        ends = set(re.findall(r'\.\.\.(_\w+)', text))
        self.assertEqual([], [
            name for name in known() if name not in text
            and not any(name.endswith(end) for end in ends)
            and not name.endswith('_quantile_seconds')])

    def test_names_what_there_is(self):
        used = names([*shown(), *(rule['expr'] for rule in rules()), *(
            variable['query']['query']
            for variable in dashboard()['templating']['list']
            if variable['type'] == 'query')])
        self.assertEqual(set(), used - set().union(*known().values()))

    def test_shows_all_that_there_is(self):
        used = names(shown())
        self.assertEqual([], [name for name, parts in known().items()
                              if not parts & used])

    def test_panels(self):
        panels = dashboard()['panels']
        numbers = [panel['id'] for panel in panels]
        self.assertEqual(len(numbers), len({*numbers}))
        places = [(x, y) for place in (panel['gridPos'] for panel in panels)
                  for x in range(place['x'], place['x'] + place['w'])
                  for y in range(place['y'], place['y'] + place['h'])]
        self.assertEqual(len(places), len({*places}))

    def test_alerts(self):
        for rule in rules():
            self.assertIn('summary', rule['annotations'])

    def test_each_runbook_exists(self):
        text = _RUNBOOKS.read_text()
        for rule in rules():
            for title in re.findall(r'runbook "([^"]+)"', ' '.join(
                    rule['annotations']['summary'].split())):
                self.assertIn(f'{title}\n{"=" * len(title)}\n', text)
                self.assertIn(rule['alert'], text)
