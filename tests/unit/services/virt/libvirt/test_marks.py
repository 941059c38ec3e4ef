# SPDX-License-Identifier: Apache-2.0

"""Tests that libvirt keeps a mark with just the guests wanted."""

import libvirt
from oslotest import base

from nova_rt.rules import labels
from nova_rt.services.virt.libvirt import marks
from tests.unit.services.virt.libvirt import test_strangers


class MarksTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        libvirt.registerErrorHandler(lambda *args: None, None)
        host = test_strangers.Host()
        self.addCleanup(host.connection.close)
        self.domain = host.connection.lookupByName('test')
        self.uuid = self.domain.UUIDString()
        self.marks = self.again()

    def again(self):
        return marks.Marks('unserved', labels.UNSERVED)

    def put(self, *wanted):
        self.marks.put(wanted, {self.uuid: self.domain})
        return labels.UNSERVED in self.domain.XMLDesc(0)

    def test_just_those_that_are_wanted(self):
        self.assertFalse(self.put())
        for _ in range(2):
            self.assertTrue(self.put(self.uuid, 'one that has ended'))
        self.assertFalse(self.put('another'))

    def test_a_mark_of_before_nova_compute_started(self):
        self.put(self.uuid)
        self.marks = self.again()
        self.assertFalse(self.put())

    def test_two_kinds(self):
        self.put(self.uuid)
        self.marks = marks.Marks('unknown', labels.UNKNOWN)
        self.assertTrue(self.put())
        self.assertNotIn(labels.UNKNOWN, self.domain.XMLDesc(0))

    def test_a_guest_that_has_ended(self):
        self.domain.destroy()
        self.marks.put([self.uuid], {self.uuid: self.domain})
