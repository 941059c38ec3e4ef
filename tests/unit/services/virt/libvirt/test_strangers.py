# SPDX-License-Identifier: Apache-2.0

"""Tests which guests are reported, and their mark in libvirt."""

import libvirt
from nova.virt.libvirt import guest as nova_guest
from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import exception
from nova_rt.rules import labels
from nova_rt.rules import reservation
from nova_rt.services.virt.libvirt import strangers
from tests.unit import base

HELD = ((0, 1), reservation.Reservation(10, 100))


class Enforcer:
    """A reader of budgets, by pid."""

    def __init__(self):
        self.budgets = {}

    def shares(self, pid):
        found = self.budgets.get(pid, ())
        if isinstance(found, Exception):
            raise found
        yield from found


class Reservations:
    """The claims of the guests; the pid of each is its id in libvirt."""

    def __init__(self, connection):
        self.enforcer = Enforcer()
        self._connection = connection

    def pid(self, uuid):
        return self._connection.lookupByUUIDString(uuid).ID()


class Host:
    """A host with the domains of libvirt's own driver for tests."""

    def __init__(self):
        self.connection = libvirt.open('test:///default')

    def list_guests(self, only_running):
        return [nova_guest.Guest(domain) for domain
                in self.connection.listAllDomains(
                    libvirt.VIR_CONNECT_LIST_DOMAINS_ACTIVE)]


class StrangersTest(base.TestCase):

    def setUp(self):
        super().setUp()
        libvirt.registerErrorHandler(lambda *args: None, None)
        self.host = Host()
        self.addCleanup(self.host.connection.close)
        self.domain = self.host.connection.lookupByName('test')
        self.uuid = self.domain.UUIDString()
        self.owed = Reservations(self.host.connection)
        self.budgets = self.owed.enforcer.budgets
        self.strangers = strangers.Strangers(self.owed, self.host)

    def hold(self, *held):
        self.budgets[self.domain.ID()] = held

    def is_marked(self):
        return labels.UNKNOWN in self.domain.XMLDesc(0)

    def test_a_guest_without_a_budget(self):
        self.assertEqual([], self.strangers.find(()))
        self.assertFalse(self.is_marked())

    def test_a_guest_with_one(self):
        self.hold(HELD)
        for _ in range(2):
            found, = self.strangers.find((uuids.other,))
            self.assertEqual((self.uuid, 'test', (HELD,)),
                             (found.uuid, found.name, found.shares))
            self.assertTrue(self.is_marked())

    def test_one_that_is_known(self):
        self.hold(HELD)
        self.assertEqual([], self.strangers.find((self.uuid,)))
        self.assertFalse(self.is_marked())

    def test_one_that_becomes_known(self):
        """Another backup is restored, while nova-compute runs or not."""
        for again in (False, True):
            self.hold(HELD)
            self.strangers.find(())
            if again:
                self.strangers = strangers.Strangers(self.owed, self.host)
            self.assertEqual([], self.strangers.find((self.uuid,)))
            self.assertFalse(self.is_marked())

    def test_what_cannot_be_told_stays_as_it_was(self):
        self.hold(HELD)
        found = self.strangers.find(())
        self.budgets[self.domain.ID()] = exception.KernelError(
            interface='x', group='y', reason='z')
        self.assertEqual(found, self.strangers.find(()))

    def test_one_that_has_ended(self):
        self.hold(HELD)
        self.strangers.find(())
        self.domain.destroy()
        self.assertEqual([], self.strangers.find(()))

    def test_a_kernel_without_reservations(self):
        self.owed.enforcer = None
        self.assertEqual([], self.strangers.find(()))
