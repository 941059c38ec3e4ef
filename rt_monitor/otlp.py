# SPDX-License-Identifier: Apache-2.0

"""Pushes the same metrics as for Prometheus to a collector (OTLP, HTTP).

The metrics are read from the text for Prometheus, so that the two cannot
differ.  This module needs the extra ``otlp``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
import itertools
import logging
import re
import sys
import threading
import time
from typing import Any
from urllib import parse

from opentelemetry.exporter.otlp.proto.http import metric_exporter
from opentelemetry.sdk.metrics import export
from opentelemetry.sdk import resources
from opentelemetry.sdk.util import instrumentation
import requests

from rt_monitor import exposition
from rt_monitor import push

#: The longest time that a push may take, in seconds.
_PATIENCE = 10
_SCOPE = 'rt_monitor'
_LINE = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)')
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_UNITS = {'_seconds': 's', '_bytes': 'By', '_joules': 'J'}
_ESCAPE = re.compile(r'\\(.)')

#: The minimum and the maximum of a histogram, which OTLP does not require.
_UNKNOWN: Any = None

_Labels = Mapping[str, str]
_Data = export.Sum | export.Gauge | export.Histogram


class _Last(logging.Handler):
    """Keeps the last message of the library instead of logging it."""

    message = ''

    def emit(self, record: logging.LogRecord) -> None:
        self.message = record.getMessage()


class OtlpExporter:
    """Pushes all metrics once per interval.

    :ivar failures: the number of pushes that failed
    """

    def __init__(self, options: push.PushOptions,
                 families: Callable[[], list[exposition.Family]]) -> None:
        """Prepares the pushes, but does not begin them.

        :param families: a function that returns all metrics as they are now
        """
        self._options = options
        self._families = families
        self._begun_ns = time.time_ns()
        self._fails = False
        self._last = _Last()
        log = logging.getLogger('opentelemetry')
        log.propagate = False
        log.addHandler(self._last)
        session = requests.Session()
        # Without this, environment variables would override our options.
        session.trust_env = False
        self._exporter = metric_exporter.OTLPMetricExporter(
            options.endpoint, options.authority or None, options.key or None,
            options.certificate or None,
            timeout=min(_PATIENCE, options.interval_s), session=session)
        self.failures = 0

    def start(self) -> None:
        """Starts a thread that pushes until the process ends."""
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(self._options.interval_s)
            self.once()

    def once(self) -> None:
        """Pushes all metrics once.

        Each failure is counted.  If several pushes fail in a row, only the
        first failure is reported.
        """
        try:
            result = self._exporter.export(metrics(
                self._families(), self._begun_ns, time.time_ns()))
            failed = result is not export.MetricExportResult.SUCCESS
            reason = self._last.message
        except Exception as error:
            failed, reason = True, str(error)
        self.failures += failed
        if failed and not self._fails:
            where = parse.urlsplit(self._options.endpoint)
            print(f'nova-rt-monitor: cannot push metrics to '
                  f'{where.hostname}; the next attempt follows in '
                  f'{self._options.interval_s:g} s: {reason}',
                  file=sys.stderr, flush=True)
        self._fails = failed


def metrics(families: Iterable[exposition.Family], begun_ns: int,
            now_ns: int) -> export.MetricsData:
    """Returns metrics in the form of OTLP, with the same names and numbers.

    :param begun_ns: the time at which the counters began, in ns since 1970
    :param now_ns: the time of the samples, in ns since 1970
    """
    converted = [export.Metric(family.name, family.help, _unit(family.name),
                               _data(family, begun_ns, now_ns))
                 for family in families if family.lines]
    scope = export.ScopeMetrics(
        instrumentation.InstrumentationScope(_SCOPE), converted, '')
    return export.MetricsData([export.ResourceMetrics(
        resources.Resource({'service.name': 'nova-rt-monitor'}), [scope],
        '')])


def _unit(name: str) -> str:
    """Returns the unit (UCUM) at the end of a name; '1' for plain numbers."""
    base = name.removesuffix('_total')
    return next((unit for end, unit in _UNITS.items() if base.endswith(end)),
                '1')


def _data(family: exposition.Family, begun_ns: int, now_ns: int) -> _Data:
    if family.kind == 'histogram':
        return export.Histogram(
            [*_histograms(family, begun_ns, now_ns)],
            export.AggregationTemporality.CUMULATIVE)
    points = [export.NumberDataPoint(labels, begun_ns, now_ns, value)
              for _, labels, value in samples(family)]
    if family.kind == 'counter':
        return export.Sum(points, export.AggregationTemporality.CUMULATIVE,
                          is_monotonic=True)
    return export.Gauge(points)


def _histograms(family: exposition.Family, begun_ns: int, now_ns: int
                ) -> Iterator[export.HistogramDataPoint]:
    """Yields a point for each set of labels; its lines follow each other."""
    def same(sample: tuple[str, _Labels, float]) -> list[tuple[str, str]]:
        return [item for item in sample[1].items() if item[0] != 'le']

    for labels, of_labels in itertools.groupby(samples(family), same):
        *buckets, (_, _, total), (_, _, count) = of_labels
        reached = [int(value) for _, _, value in buckets]
        yield export.HistogramDataPoint(
            dict(labels), begun_ns, now_ns, int(count), total,
            [high - low for low, high in itertools.pairwise([0, *reached])],
            [float(bucket['le']) for _, bucket, _ in buckets[:-1]],
            _UNKNOWN, _UNKNOWN)


def samples(family: exposition.Family
            ) -> Iterator[tuple[str, _Labels, float]]:
    """Yields suffix, labels and value of each line of a family.

    :raises ValueError: when a line is not a sample
    """
    for line in '\n'.join(family.lines).split('\n'):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f'{line!r} is not a sample of a metric')
        name, labels, value = match.groups()
        yield name.removeprefix(family.name), {
            key: _ESCAPE.sub(_unescaped, text)
            for key, text in _LABEL.findall(labels or '')}, _number(value)


def _unescaped(match: re.Match[str]) -> str:
    return '\n' if match[1] == 'n' else match[1]


def _number(text: str) -> float:
    try:
        return int(text)
    except ValueError:
        return float(text)
