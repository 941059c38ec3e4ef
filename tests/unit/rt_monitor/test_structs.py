# SPDX-License-Identifier: Apache-2.0

"""The structs of the compiled programs are as Python reads and writes them."""

import dataclasses
import re
import struct
import unittest

from rt_monitor import counters
from rt_monitor import histogram
from rt_monitor import http
from rt_monitor import objects
from rt_monitor import paths
from rt_monitor import sched
from rt_monitor import servers
from rt_monitor import tap
from rt_monitor import transactions
from rt_monitor import waits
from tests.unit.rt_monitor import btf

_PART = re.compile(r'(\d*)([a-zA-Z])')
#: The structs of the kernel in kernel.h.
_OF_KERNEL = re.compile(r'^struct (\w+) \{$', re.MULTILINE)
#: An object, a struct, what reads it, and the names of what is read.
STRUCTS = (
    ('sched', 'counts', waits._COUNTS, (
        *(field.name for field in dataclasses.fields(waits.Counts)),
        'stopped', 'settled', 'waited', 'from', 'until', 'period', 'used')),
    ('sched', 'totals', waits._TOTALS, ('ran', 'waited')),
    ('sched', 'cpu', sched._CPU, (
        'since', 'lane', 'pid', 'known', 'unseen', 'budgets')),
    ('sched', 'lane', servers._VALUE, ('lane', 'server')),
    ('tcp', 'edge_key', transactions._KEY, (
        'server', 'role', 'port', 'peer')),
    ('tap', 'tap', tap._TAP, ('server', 'machine')),
    ('tap', 'datagrams', tap._DATAGRAMS, ('count', 'bytes')),
    ('http', 'exchange_key', http._KEY, (
        'server', 'role', 'method', 'class', 'spare', 'path')),
    ('http', 'stats', paths._STATS, ('beyond', 'unclear')))
#: Structs that end with parts that other code reads.
BEGINNINGS = (
    ('http', 'exchange', paths._EXCHANGE, ('begun', 'place')),
    ('tcp', 'edge', transactions._EDGE, ('begun', 'place', 'used')),
    ('tcp', 'traffic', transactions._TRAFFIC, ('in', 'out', 'unclear')))


def parts(reader: struct.Struct) -> list[tuple[int, int]]:
    """Returns offset and size of each part of a format without padding."""
    found, at = [], 0
    for count, code in _PART.findall(reader.format):
        each = struct.calcsize(f'={code}')
        times = 1 if code == 's' else int(count or 1)
        size = each * int(count or 1) // times
        found += [(at + size * index, size) for index in range(times)]
        at += size * times
    return found


class StructsTest(unittest.TestCase):

    def types(self, name):
        path = objects.path(name)
        if not path.exists():
            self.skipTest('built without the programs')
        return btf.Types(path)

    def assert_parts(self, members, read):
        """Each member is read by one part, or by several of equal size."""
        ends = {at for at, _ in read} | {at + size for at, size in read}
        for name, at, size in members:
            self.assertTrue({at, at + size} <= ends, (name, at, size, read))

    def test_structs(self):
        for name, of, reader, labels in STRUCTS:
            with self.subTest(object=name, struct=of):
                types = self.types(name)
                members = types.layout(of)
                self.assertEqual(labels, tuple(
                    label for label, _, _ in members))
                self.assertEqual(types.struct(of).size, reader.size)
                self.assert_parts(members, parts(reader))

    def test_beginnings(self):
        for name, of, reader, labels in BEGINNINGS:
            with self.subTest(object=name, struct=of):
                members = self.types(name).layout(of)
                self.assertEqual(labels, tuple(
                    label for label, _, _ in members[:len(labels)]))
                self.assertEqual(reader.size, members[len(labels)][1])
                self.assert_parts(members[:len(labels)], parts(reader))

    def test_histogram(self):
        for name in ('sched', 'tcp', 'tap', 'http'):
            types = self.types(name)
            self.assertEqual(
                [('counts', 0, histogram.SIZE - 8),
                 ('sum_ns', histogram.SIZE - 8, 8)],
                types.layout('histogram'))

    def test_sums(self):
        for name in ('tcp', 'tap'):
            both = 2 * transactions._TRAFFIC_SIZE
            self.assertEqual([
                ('server', 0, both // 2), ('client', both // 2, both // 2),
                ('waiting', both, histogram.SIZE),
                ('first', both + histogram.SIZE, histogram.SIZE),
                ('late', both + 2 * histogram.SIZE, 8),
                ('beyond', both + 2 * histogram.SIZE + 8, 8),
                ('answers', both + 2 * histogram.SIZE + 16, 8)],
                self.types(name).layout('sums'))

    def test_work(self):
        types = self.types('counters')
        self.assertEqual(counters._WORK.size, types.struct('work').size)
        self.assertEqual([('counted', 0, 32), ('beside', 32, 8)],
                         types.layout('work'))

    def test_fields_of_the_kernel(self):
        """libbpf fits only unsigned fields to another size in the kernel."""
        source = objects.path('sched').with_name('kernel.h').read_text()
        of_kernel = {*_OF_KERNEL.findall(source)}
        for name in ('sched', 'tcp', 'counters'):
            types = self.types(name)
            read = of_kernel & types.structs()
            self.assertTrue(read, name)
            for each in read:
                self.assertEqual([], types.narrow(each), (name, each))

    def test_both_sources_have_the_same(self):
        tcp, taps = self.types('tcp'), self.types('tap')
        for name in ('edge_key', 'edge', 'traffic', 'sums', 'peers'):
            self.assertEqual(tcp.layout(name), taps.layout(name))
