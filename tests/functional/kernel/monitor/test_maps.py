# SPDX-License-Identifier: Apache-2.0

"""Tests maps of the kernel, read many values at a time and one by one."""

import struct
from unittest import mock

import ddt

from rt_monitor import libbpf
from rt_monitor import objects
from tests.functional.kernel.monitor import base
from tests.unit.rt_monitor import btf

ENTRIES = 300


@ddt.ddt
class MapsTest(base.ProgramsTest):

    def setUp(self):
        super().setUp()
        self.object = libbpf.Object(str(objects.path('sched')))
        self.addCleanup(self.object.close)

    # With a buffer for one key, a shared bucket needs more room than there is.
    @ddt.data(1, 64, 2 * ENTRIES)
    def test_hash(self, at_once):
        groups = self.object.map('groups')
        for number in range(ENTRIES):
            groups.put(struct.pack('=Q', number),
                       struct.pack('=II', number, 2 * number))
        with mock.patch.object(libbpf, '_AT_ONCE', at_once):
            found = [*groups.items()]
        self.assertEqual(ENTRIES, len(found))
        self.assertEqual({key: groups.get(key) for key in groups.keys()},
                         dict(found))

    @ddt.data(1, 100)
    def test_array(self, at_once):
        waits = self.object.map('waits')
        waits.put(objects.key(17), bytes(range(250)) * 32 + bytes(200))
        with mock.patch.object(libbpf, '_AT_ONCE', at_once):
            found = objects.by_number(waits)
        self.assertEqual([*range(waits.entries)], [*found])
        self.assertEqual(waits.get(objects.key(17)), found.pop(17))
        self.assertFalse(any(map(any, found.values())))

    def test_events_that_programs_missed(self):
        members = btf.Types(base.TYPES).layout('bpf_prog_info')
        self.assertIn(('recursion_misses', libbpf._MISSED_AT,
                       libbpf._INFO_SIZE - libbpf._MISSED_AT), members)
        self.assertEqual(0, self.object.missed_runs())

    def test_of_none(self):
        self.assertEqual([], [*self.object.map('groups').items()])

    def test_a_kind_without_it(self):
        with self.assertRaises(OSError):
            [*self.object.map('tasks').items()]
