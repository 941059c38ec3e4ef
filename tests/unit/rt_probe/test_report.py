# SPDX-License-Identifier: Apache-2.0

import json

from oslotest import base

from rt_probe import report

REPORT = report.Report(
    at=1000.0, method=report.THROTTLED, available=0.3, lower=0.28, upper=0.32,
    used=0.29, speed={'sha256': 1.25}, age_s=0.5, period_us=100_000,
    source='cpu.stat', reason='', changed_from=None, absent={'psi': 'no'})
BOUND = REPORT._replace(
    method=report.BOUND, available=None, upper=None, age_s=None,
    speed={}, reason='bursts are not allowed')


class ReportTest(base.BaseTestCase):

    def test_line(self):
        line = REPORT.as_json()
        self.assertNotIn('\n', line)
        self.assertEqual(REPORT._asdict(), json.loads(line))

    def test_any_words(self):
        """The odd characters may come from the kernel."""
        odd = REPORT._replace(reason='"\\\n\u00e4', absent={
            'a"': '\\'}, at=1e12, used=1e-9)
        self.assertEqual(odd._asdict() | {'used': 0.0},
                         json.loads(odd.as_json()))

    def test_unknown_is_null(self):
        found = json.loads(BOUND.as_json())
        self.assertIsNone(found['available'])
        self.assertIsNone(found['upper'])
        self.assertEqual(0.28, found['lower'])

    def test_prometheus(self):
        self.assertEqual('''\
# TYPE rt_probe_cpu_available_ratio gauge
rt_probe_cpu_available_ratio{method="throttled"} 0.30000
# TYPE rt_probe_cpu_available_lower_ratio gauge
rt_probe_cpu_available_lower_ratio{method="throttled"} 0.28000
# TYPE rt_probe_cpu_available_upper_ratio gauge
rt_probe_cpu_available_upper_ratio{method="throttled"} 0.32000
# TYPE rt_probe_cpu_used_ratio gauge
rt_probe_cpu_used_ratio{method="throttled"} 0.29000
# TYPE rt_probe_speed_ratio gauge
rt_probe_speed_ratio{method="throttled",task="sha256"} 1.25000
# TYPE rt_probe_estimate_age_seconds gauge
rt_probe_estimate_age_seconds{method="throttled"} 0.50000
''', REPORT.as_prometheus())

    def test_prometheus_leaves_out_what_is_not_known(self):
        self.assertEqual([
            'rt_probe_cpu_available_lower_ratio{method="bound"} 0.28000',
            'rt_probe_cpu_used_ratio{method="bound"} 0.29000'],
            [line for line in BOUND.as_prometheus().splitlines()
             if not line.startswith('#')])
