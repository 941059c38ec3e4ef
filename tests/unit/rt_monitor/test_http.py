# SPDX-License-Identifier: Apache-2.0

"""rt_monitor.http: requests as the programs count them."""

import struct
import unittest

import hypothesis
from hypothesis import strategies as st

from rt_monitor import histogram
from rt_monitor import http
from rt_monitor import transactions

PATHS = st.binary(max_size=64)


def key(path, server=3, role=1, method=1, status=2):
    return struct.pack('=IBBBx64s', server, role, method, status, path)


class HttpTest(unittest.TestCase):

    def test_a_request(self):
        self.assertEqual(
            (3, http.Request(transactions.Role.CLIENT, 'TRACE', '/v:n/x',
                             '5xx')),
            http.decode(key(b'/v:n/x', 3, 2, 8, 5)))

    def test_no_path(self):
        self.assertEqual('other', http.readable(bytes(64)))

    @hypothesis.given(PATHS)
    def test_any_path_is_short_and_printable(self, path):
        found = http.readable(path)
        self.assertTrue(found.isascii() and found.isprintable())
        self.assertNotIn(' ', found)
        self.assertTrue(0 < len(found) <= 64)

    @hypothesis.given(st.text('abc/%"\\:', min_size=1, max_size=64))
    def test_a_plain_path_is_as_it_is(self, path):
        self.assertEqual(path, http.readable(path.encode()))

    @hypothesis.given(PATHS)
    def test_an_escape_is_whole_or_not_there(self, path):
        """A path is never cut within an escape."""
        escaped = ''.join(
            chr(each) if 0x20 < each < 0x7f else f'%{each:02X}'
            for each in path.rstrip(b'\0'))
        found = http.readable(path)
        if found != http.OTHER:
            self.assertTrue(escaped.startswith(found))
            self.assertTrue(len(escaped) == len(found)
                            or len(found) > 64 - 3)

    @hypothesis.given(st.lists(st.tuples(PATHS, st.integers(0, 1023)),
                               max_size=8))
    def test_nothing_is_lost_of_what_looks_the_same(self, each):
        requests = [(http.decode(key(path))[1], one(bucket))
                    for path, bucket in each]
        found = http.collect(requests)
        self.assertEqual(len(requests), sum(
            took.count for took in found.requests.values()))
        self.assertEqual(found, http.ServerRequests() + found)
        self.assertEqual(
            [0] * len(found.requests),
            [took.count for took in found.since(found).requests.values()])


def one(bucket):
    counts = [0] * histogram.BUCKETS
    counts[bucket] = 1
    return histogram.Histogram.from_counts(counts, histogram.floor_ns(bucket))
