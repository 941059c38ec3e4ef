# SPDX-License-Identifier: Apache-2.0

"""Evaluates the shipped alerts on healthy and on sick servers.

usage: .venv/bin/python -m tests.full.signals.alerts [--count N] [NAME ...]

Each server of the suite runs with a reservation in its group; its metrics are
read before and after its traffic.  ``promtool test rules`` (Debian's package
``prometheus``) then evaluates the alerts on half an hour in which the counters
rise as they did meanwhile.  No alert may fire for a healthy server, except
that requests are unclear, and each sick one has its alerts.  Exits with 1 if
promtool finds anything else.  Needs root and RT_GROUP_SCHED.
"""

import argparse
from collections.abc import Callable
import dataclasses
import json
import pathlib
import subprocess
import tempfile
import time

from rt_monitor import exposition
from rt_monitor import metrics
from rt_monitor import snapshot
from tests.full.signals import catalogue
from tests.full.signals import compare
from tests.full.signals import sick
from tests.full.signals import stage as signals_stage
from tests.full.signals import web

_RULES = (pathlib.Path(__file__).parents[3]
          / 'etc/grafana/nova-rt-alerts.yaml')
#: Servers over TCP that this machine can run.
_NAMES = [name for name, server in catalogue.SERVERS.items()
          if server.is_tcp and not server.missing]
#: Prometheus reads each 15 s, and the alerts need up to 15 minutes.
_STEP_S, _STEPS = 15, 120
_TARGET = 'job="hosts",instance="host:9760"'
_COUNTERS = ('_total', '_bucket', '_count', '_sum')


@dataclasses.dataclass(frozen=True)
class Case:
    """Two readings of the metrics of a host.

    :ivar alerts: the names of the alerts that must fire
    """

    name: str
    alerts: frozenset[str]
    before: str
    after: str
    span_s: float

    def series(self) -> dict[str, str]:
        """Returns the values of each series as promtool reads them."""
        first, found = _samples(self.before), {}
        for name, value in _samples(self.after).items():
            step = 0.0
            if name.partition('{')[0].endswith(_COUNTERS):
                step = (value - first.get(name, 0)) / self.span_s * _STEP_S
            # A counter begins at its second reading, and rises from there.
            found[_labelled(name)] = f'{value}+{step}x{_STEPS}'
        found[f'up{{{_TARGET}}}'] = f'1x{_STEPS}'
        return found


def read(monitor: snapshot.Monitor) -> str:
    """Returns what Prometheus would read."""
    return exposition.text(metrics.families(monitor.read()))


def observed(name: str, alerts: frozenset[str], reading: Callable[[], str],
             work: Callable[[], None]) -> Case:
    """Returns the case of some work."""
    before, begun = reading(), time.monotonic()
    work()
    return Case(name, alerts, before, reading(), time.monotonic() - begun)


def _samples(text: str) -> dict[str, float]:
    lines = (line.rpartition(' ') for line in text.splitlines()
             if line and not line.startswith('#'))
    return {name: float(value) for name, _, value in lines}


def _labelled(name: str) -> str:
    metric, _, labels = name.partition('{')
    return f'{metric}{{{_TARGET},{labels or "}"}'


@dataclasses.dataclass(frozen=True)
class ReservedStage(signals_stage.Stage):
    """A stage whose servers have a reservation; it keeps the cases."""

    cases: list[Case] = dataclasses.field(default_factory=list)

    def _watched(self, name: str, what: str,
                 exchange: Callable[[], compare.Truth]) -> compare.Row:
        rows: list[compare.Row] = []
        sick.make_real_time(self.groups['server'])
        case = observed(
            f'{name}, {what}', frozenset(), lambda: read(self.monitor),
            lambda: rows.append(super(ReservedStage, self)._watched(
                name, what, exchange)))
        if rows[0].is_unclear:
            case = dataclasses.replace(
                case, alerts=frozenset({'ServerHasUnclearRequests'}))
        self.cases.append(case)
        return rows[0]


def _test(case: Case) -> dict[str, object]:
    """Returns a case as a test of promtool."""
    return {
        'name': case.name, 'interval': f'{_STEP_S}s',
        'input_series': [{'series': name, 'values': values}
                         for name, values in case.series().items()],
        'promql_expr_test': [{
            'expr': 'count by (alertname) (ALERTS{alertstate="firing"})',
            'eval_time': '25m', 'exp_samples': [
                {'labels': f'{{alertname="{alert}"}}', 'value': 1}
                for alert in sorted(case.alerts)]}]}


def _silent_monitor() -> dict[str, object]:
    """Returns the test of a monitor that stops to answer after 10 minutes."""
    test = _test(Case('a monitor that does not answer',
                      frozenset({'MonitorDown'}), '', '', 1))
    test['input_series'] = [
        {'series': f'nova_rt_monitor_source{{{_TARGET},source="tcp",'
         'state="on"}', 'values': f'1x40 _x{_STEPS - 41}'},
        {'series': f'up{{{_TARGET}}}', 'values': f'1x40 0x{_STEPS - 41}'}]
    return test


def evaluate(promtool: str, folder: pathlib.Path, cases: list[Case]) -> bool:
    """Prints a line for each case; returns whether all are as expected."""
    met = True
    for test in [*map(_test, cases), _silent_monitor()]:
        path = folder / 'test.yaml'
        path.write_text(json.dumps({  # which is YAML, too
            'rule_files': [str(_RULES)], 'evaluation_interval': '15s',
            'tests': [test]}))
        done = subprocess.run([promtool, 'test', 'rules', path],
                              capture_output=True, text=True)
        good = done.returncode == 0
        print('as expected' if good else 'WRONG', test['name'], sep=': ',
              flush=True)
        if not good:
            print(done.stdout, done.stderr)
        met &= good
    return met


def main() -> int:
    """Runs all cases; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--count', type=int, default=1_000, metavar='N')
    parser.add_argument('names', nargs='*', metavar='NAME',
                        help=f'some of {", ".join(_NAMES)}')
    args = parser.parse_args()
    names = args.names or _NAMES
    wanted = [*catalogue.packages(names), 'prometheus']
    with tempfile.TemporaryDirectory() as folder, signals_stage.stage(
            pathlib.Path(folder), wanted) as plain, sick.reserved(plain):
        stage = ReservedStage(**{
            field.name: getattr(plain, field.name)
            for field in dataclasses.fields(plain)})
        web.prepare(stage)
        for name in names:
            for row in catalogue.SERVERS[name].rows(stage, args.count):
                print(f'{row.verdict:8} {row.name}, {row.traffic}',
                      flush=True)
        cases = [*stage.cases, *(
            observed(name, alerts, reading, work)
            for name, alerts, reading, work in sick.cases(stage, read))]
        return int(not evaluate(stage.packages.path('promtool'),
                                stage.folder, cases))


if __name__ == '__main__':
    raise SystemExit(main())
