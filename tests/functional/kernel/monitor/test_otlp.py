# SPDX-License-Identifier: Apache-2.0

"""Tests pushes to a receiver that decodes the requests.

The tests do not run beside unit tests, some of which replace threads.
"""

import contextlib
import datetime
import http.server
import io
import ipaddress
import pathlib
import ssl
import tempfile
import threading
import unittest

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography import x509
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from prometheus_client import parser

from rt_monitor import exposition
from rt_monitor import metrics
from rt_monitor import push
from tests.unit.rt_monitor import test_exposition

FULL = metrics.families(test_exposition.full())


class Receiver(http.server.BaseHTTPRequestHandler):
    """Answers with the status of its server, which stores the requests."""

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.server.paths.append(self.path)
        self.server.requests.append(
            metrics_service_pb2.ExportMetricsServiceRequest.FromString(body))
        self.send_response(self.server.status)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *args):
        """Logs nothing, because the tests are quiet."""


def told(request):
    """Returns the content of a request as the text format would."""
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


class PushTest(unittest.TestCase):

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

    def pushing(self, scheme='http', families=FULL, interval_s=60.0,
                **options):
        port = self.server.server_address[1]
        return push.prepare(push.PushOptions(
            f'{scheme}://127.0.0.1:{port}/v1/metrics', interval_s, **options),
            lambda: families)

    def push(self, pushing, times=1):
        """Returns the output in the meantime."""
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
        self.assertIn('cannot push metrics to 127.0.0.1; the next attempt '
                      'follows in 60 s: ', said)
        self.server.status = 200
        self.assertEqual('', self.push(pushing))
        self.assertEqual(3, pushing.failures)
        self.server.status = 400
        self.assertEqual(1, len(self.push(pushing).splitlines()))

    def test_nobody_is_there(self):
        self.server.server_close()
        # The shorter this time is, the earlier a push is given up.
        pushing = self.pushing(interval_s=1.0)
        self.assertEqual(1, len(self.push(pushing, 2).splitlines()))
        self.assertEqual(2, pushing.failures)

    def test_metrics_that_cannot_be_had(self):
        family = exposition.Family('nova_rt_x', 'gauge', 'X.', ['nonsense'])
        pushing = self.pushing(families=[family])
        self.assertIn("'nonsense' is not a sample", self.push(pushing))
        self.assertEqual(1, pushing.failures)

    def certificate(self):
        """Files of a certificate that is its own authority, and its key."""
        key = rsa.generate_private_key(65_537, 2048)
        name = x509.Name([x509.NameAttribute(
            x509.NameOID.COMMON_NAME, '127.0.0.1')])
        now = datetime.datetime.now(datetime.UTC)
        day = datetime.timedelta(days=1)
        made = x509.CertificateBuilder(
            name, name, key.public_key(), x509.random_serial_number(),
            now - day, now + day, [x509.Extension(
                x509.ExtensionOID.SUBJECT_ALTERNATIVE_NAME, False,
                x509.SubjectAlternativeName([x509.IPAddress(
                    ipaddress.IPv4Address('127.0.0.1'))]))]).sign(
            key, hashes.SHA256())
        pem = serialization.Encoding.PEM
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for name, data in (
                ('certificate', made.public_bytes(pem)),
                ('key', key.private_bytes(
                    pem, serialization.PrivateFormat.PKCS8,
                    serialization.NoEncryption()))):
            pathlib.Path(folder, name).write_bytes(data)
        return f'{folder}/certificate', f'{folder}/key'

    def test_tls(self):
        certificate, key = self.certificate()
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
            pushing = self.pushing('https', interval_s=1.0, **wrong)
            self.push(pushing)
            self.assertEqual((1, []),
                             (pushing.failures, self.server.requests))
        self.assertEqual('', self.push(self.pushing(
            'https', authority=certificate, **ours)))
        self.assertEqual(1, len(self.server.requests))
