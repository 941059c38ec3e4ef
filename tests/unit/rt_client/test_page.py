# SPDX-License-Identifier: Apache-2.0

import datetime
from html import parser
import json

from rt_client import page
from tests.unit.rt_client import base

NOW = datetime.datetime(2026, 11, 24, tzinfo=datetime.UTC)


class Reader(parser.HTMLParser):
    """The elements of a page, what it loads, and its data."""

    def __init__(self):
        super().__init__()
        self.open, self.loads, self.data = [], [], ''

    def handle_starttag(self, tag, attrs):
        if tag not in ('meta', 'input'):
            self.open.append(tag)
        values = dict(attrs)
        self.loads += [values[key] for key in ('src', 'href')
                       if key in values]
        self.reading = values.get('id') == 'data'

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open and self.open[-1] == 'script' and self.reading:
            self.data += data


class PageTest(base.TestCase):

    hosts = (base.host('a', [400_000, 5_000]), base.host('b', []))
    servers = (base.server(1, 'a', [0], name='</script><b>'),)

    def read(self):
        reader = Reader()
        reader.feed(page.render(
            self.cloud.hosts(), list(self.cloud.servers()),
            {'a': ('up', 'enabled')}, NOW))
        return reader

    def test_it_stands_alone(self):
        reader = self.read()
        self.assertEqual([], reader.open)
        self.assertEqual([], reader.loads)

    def test_data(self):
        self.assertEqual({
            'made': '2026-11-24 00:00 UTC',
            'servers': [['</script><b>', 'AAAAAQAAAAAAAAAAAAAAAA', 0, 0]],
            'projects': ['p'], 'shares': [[40_000, 100_000]],
            'hosts': [['a', 950_000, '', [0, 1], [[0], []], {'1': 5_000}],
                      ['b', 950_000, 'nova-compute does not answer; offers '
                       'no reservations', [], [], {}]]},
            json.loads(self.read().data))

    def test_a_file_that_cannot_be_written(self):
        with self.assertRaisesRegex(Exception, 'Cannot write /: '):
            self.run_command(page.Map, '-o', '/')
