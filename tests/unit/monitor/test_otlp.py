# SPDX-License-Identifier: Apache-2.0

"""nova_rt.monitor.otlp and push, with a receiver that decodes what comes."""

import contextlib
import http.server
import io
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import hypothesis
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from prometheus_client import parser

from nova_rt import exception
from nova_rt.monitor import exposition
from nova_rt.monitor import metrics
from nova_rt.monitor import otlp
from nova_rt.monitor import push
from tests.unit.monitor import test_exposition

FULL = metrics.families(test_exposition.full())


class Receiver(http.server.BaseHTTPRequestHandler):
    """Answers with the status of its server, which keeps what came."""

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.server.paths.append(self.path)
        self.server.requests.append(
            metrics_service_pb2.ExportMetricsServiceRequest.FromString(body))
        self.send_response(self.server.status)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *args):
        """The tests are quiet."""


def told(request):
    """What a request says, as the text format would."""
    [resource] = request.resource_metrics
    [scope] = resource.scope_metrics
    found = {}
    for metric in scope.metrics:
        kind = metric.WhichOneof('data')
        for point in getattr(metric, kind).data_points:
            labels = sorted((each.key, each.value.string_value)
                            for each in point.attributes)
            if kind != 'histogram':
                found[(metric.name, *labels)] = (
                    point.as_int if point.WhichOneof('value') == 'as_int'
                    else point.as_double)
                continue
            reached = 0
            for bound, count in zip([*point.explicit_bounds, None],
                                    point.bucket_counts, strict=True):
                reached += count
                le = '+Inf' if bound is None else repr(bound)
                found[(f'{metric.name}_bucket', *sorted(
                    [*labels, ('le', le)]))] = reached
            found[(f'{metric.name}_sum', *labels)] = point.sum
            found[(f'{metric.name}_count', *labels)] = point.count
            assert not point.HasField('min')
    return found


class OtlpTest(unittest.TestCase):

    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(
            ('127.0.0.1', 0), Receiver)
        self.server.requests, self.server.paths = [], []
        self.server.status = 200
        self.addCleanup(self.server.server_close)

    def listen(self):
        thread = threading.Thread(target=self.server.serve_forever,
                                  kwargs={'poll_interval': 0.01})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.shutdown)

    def pushing(self, scheme='http', families=FULL, **options):
        port = self.server.server_address[1]
        return push.prepare(push.Options(
            f'{scheme}://127.0.0.1:{port}/v1/metrics', 1.0, **options),
            lambda: families)

    def push(self, pushing, times=1):
        """What it says meanwhile."""
        with contextlib.redirect_stderr(io.StringIO()) as err:
            for _ in range(times):
                pushing.once()
        return err.getvalue()

    def test_says_what_prometheus_is_told(self):
        self.listen()
        self.assertEqual('', self.push(self.pushing()))
        [request] = self.server.requests
        self.assertEqual(['/v1/metrics'], self.server.paths)
        self.assertEqual(
            {(sample.name, *sorted(sample.labels.items())): sample.value
             for family in parser.text_string_to_metric_families(
                 exposition.text(FULL)) for sample in family.samples},
            told(request))

    def test_counters_are_cumulative(self):
        self.listen()
        self.push(self.pushing(), 2)
        sums = [metric.sum for request in self.server.requests
                for metric in request.resource_metrics[0].scope_metrics[
                    0].metrics if metric.WhichOneof('data') == 'sum']
        self.assertTrue(sums)
        self.assertEqual({(True, 2)}, {
            (each.is_monotonic, each.aggregation_temporality)
            for each in sums})
        self.assertEqual(1, len({
            point.start_time_unix_nano for each in sums
            for point in each.data_points}))

    def test_a_refusal(self):
        self.listen()
        self.server.status = 400
        pushing = self.pushing()
        said = self.push(pushing, 3)
        self.assertEqual(3, pushing.failures)
        self.assertEqual(1, len(said.splitlines()), said)
        self.assertIn('metrics cannot be pushed to 127.0.0.1, which is tried '
                      'again every 1 s: ', said)
        self.server.status = 200
        self.assertEqual('', self.push(pushing))
        self.assertEqual(3, pushing.failures)
        self.server.status = 400
        self.assertEqual(1, len(self.push(pushing).splitlines()))

    def test_nobody_is_there(self):
        self.server.server_close()
        pushing = self.pushing()
        self.assertEqual(1, len(self.push(pushing, 2).splitlines()))
        self.assertEqual(2, pushing.failures)

    def test_metrics_that_cannot_be_had(self):
        family = exposition.Family('nova_rt_x', 'gauge', 'X.', ['nonsense'])
        pushing = self.pushing(families=[family])
        self.assertIn("'nonsense' is no sample", self.push(pushing))
        self.assertEqual(1, pushing.failures)

    def test_tls(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        key, certificate = (f'{folder.name}/{name}' for name in ('k', 'c'))
        subprocess.run(
            ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes',
             '-keyout', key, '-out', certificate, '-subj', '/CN=127.0.0.1',
             '-addext', 'subjectAltName=IP:127.0.0.1'], check=True,
            stderr=subprocess.DEVNULL)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.load_verify_locations(certificate)
        context.verify_mode = ssl.CERT_REQUIRED
        self.server.socket = context.wrap_socket(
            self.server.socket, server_side=True)
        self.server.handle_error = lambda *args: None
        self.listen()
        ours = {'certificate': certificate, 'key': key}
        for wrong in ({}, ours, {'authority': certificate}):
            pushing = self.pushing('https', **wrong)
            self.push(pushing)
            self.assertEqual((1, []),
                             (pushing.failures, self.server.requests))
        self.assertEqual('', self.push(self.pushing(
            'https', authority=certificate, **ours)))
        self.assertEqual(1, len(self.server.requests))

    def test_what_is_missing(self):
        with self.assertRaisesRegex(exception.CannotMonitor, '/missing is'):
            self.pushing(authority='/missing')
        with (mock.patch.dict(sys.modules, {
                'nova_rt.monitor.otlp': None}),
              self.assertRaisesRegex(exception.CannotMonitor,
                                     r'nova-rt\[otlp\]')):
            self.pushing()

    @hypothesis.given(st.dictionaries(
        st.sampled_from('abcdef'), st.text(max_size=20).map(
            exposition.clean), max_size=4),
        st.one_of(st.integers(0, 1 << 64), st.floats(0, 1e15)))
    def test_any_sample_is_read_as_it_was_written(self, labels, value):
        family = exposition.Family('nova_rt_x', 'gauge', 'X.')
        family.add(value, labels)
        self.assertEqual([('', labels, value)], [*otlp.samples(family)])
