# SPDX-License-Identifier: Apache-2.0

"""Pushes to a foreign collector: VictoriaMetrics, by its path.

``NOVA_RT_VICTORIA_METRICS`` names its program.  The collector gets the same
metrics by a push and by a scrape, and answers whether the results are the
same.
"""

import functools
import http.server
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from urllib import parse
from urllib import request

from rt_monitor import exposition
from rt_monitor import metrics
from rt_monitor import push
from tests.unit.rt_monitor import test_exposition

PROGRAM = os.environ.get('NOVA_RT_VICTORIA_METRICS', '')
FULL = metrics.families(test_exposition.full())
_SECONDS = 60
#: Labels that say where a sample came from.
_ORIGIN = {'job', 'instance', 'service.name', 'scope.name', 'scope.version'}

CONFIG = '''
global: {scrape_interval: 1s}
scrape_configs:
- job_name: scraped
  static_configs: [{targets: ['127.0.0.1:%d']}]
'''


class Page(http.server.BaseHTTPRequestHandler):
    """Answers each scrape with the same text."""

    def do_GET(self):  # noqa: N802
        body = exposition.text(FULL).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'text/plain; version=0.0.4')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Logs nothing, because the tests are quiet."""


@unittest.skipUnless(PROGRAM, 'NOVA_RT_VICTORIA_METRICS names no program')
class CollectorTest(unittest.TestCase):

    def setUp(self):
        page = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Page)
        self.addCleanup(page.server_close)
        thread = threading.Thread(target=page.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(page.shutdown)
        with socket.create_server(('127.0.0.1', 0)) as unused:
            self.port = unused.getsockname()[1]
        self.start(CONFIG % page.server_address[1])
        self.wait_for(functools.partial(self.get, '/health'))

    def start(self, config):
        folder = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory()))
        (folder / 'scrape.yml').write_text(config)
        log = self.enterContext((folder / 'log').open('w'))
        child = subprocess.Popen(
            [PROGRAM, f'-promscrape.config={folder}/scrape.yml',
             f'-storageDataPath={folder}/data',
             f'-httpListenAddr=127.0.0.1:{self.port}',
             '-search.latencyOffset=1ms', '-search.disableCache'],
            stdout=log, stderr=log)
        self.addCleanup(child.communicate)
        self.addCleanup(child.terminate)

    def get(self, path):
        try:
            with request.urlopen(
                    f'http://127.0.0.1:{self.port}{path}') as answer:
                return answer.read()
        except OSError:
            return b''

    def wait_for(self, found):
        end = time.monotonic() + _SECONDS
        while not found():
            self.assertLess(time.monotonic(), end, 'it never came to be')
            time.sleep(0.1)

    def told(self, origin):
        """Returns the numbers that came in one way, by name and labels."""
        query = parse.quote(f'{{__name__=~"nova_rt_.+", {origin}}}')
        answer = json.loads(self.get(f'/api/v1/query?query={query}'))
        return {
            tuple(sorted((key, float(value) if key == 'le' else value)
                         for key, value in each['metric'].items()
                         if key not in _ORIGIN)): float(each['value'][1])
            for each in answer['data']['result']}

    def test_a_push_tells_the_same_as_a_scrape(self):
        pushing = push.prepare(push.PushOptions(
            f'http://127.0.0.1:{self.port}/opentelemetry/v1/metrics'),
            lambda: FULL)
        pushing.once()
        self.assertEqual(0, pushing.failures)
        count = exposition.text(FULL).count('\nnova_rt_')
        for origin in ('job="scraped"', 'job!="scraped"'):
            self.wait_for(lambda origin=origin:
                          len(self.told(origin)) == count)
        self.assertEqual(self.told('job="scraped"'),
                         self.told('job!="scraped"'))
