# SPDX-License-Identifier: Apache-2.0

"""Tests what guests ask of the reservations of their host."""

import types

import fixtures
import libvirt
from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import exception
from nova_rt.services.virt.libvirt import reservations
from tests.unit import base
from tests.unit.services.virt.libvirt import fakes


class Enforcer:
    """Notes what it is asked for; refuses on demand."""

    pins = releases_early = True

    def __init__(self):
        self.asked = []
        self.error = None

    def _note(self, *asked):
        self.asked.append(asked)
        if self.error:
            raise self.error

    def guard(self):
        self._note('guard')

    def release(self, pid):
        self._note('release', pid)

    def settle(self):
        self._note('settle')

    def withhold(self, pid):
        self._note('withhold', pid)


class Domain:

    def __init__(self, number):
        self._number = number

    def ID(self):
        return self._number

    def name(self):
        return 'n'


class ReservationsTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.config(group='libvirt', virt_type='lxc')
        self.domains = {uuids.server: Domain(4711), uuids.off: Domain(-1)}
        connection = types.SimpleNamespace(lookupByUUIDString=self.look_up)
        self.ours = reservations.Reservations(None, types.SimpleNamespace(
            get_connection=lambda: connection))
        self.target = self.ours.enforcer = Enforcer()

    def look_up(self, uuid):
        if uuid not in self.domains:
            raise libvirt.libvirtError('no domain')
        return self.domains[uuid]

    def test_without_an_interface(self):
        self.ours.enforcer = None
        error = self.assertRaises(exception.ReservationNotApplied,
                                  self.ours.needed)
        self.assertIn('cannot enforce CPU reservations', str(error))
        self.assertFalse(self.ours.pins())
        for ask in (self.ours.guard, self.ours.settle,
                    lambda: self.ours.withhold(uuids.server),
                    lambda: self.ours.release(uuids.server)):
            ask()
        self.assertEqual([], self.target.asked)

    def test_handled_until_the_outermost_ends(self):
        with self.ours.handling(uuids.server):
            with self.ours.handling(uuids.server):
                pass
            self.assertTrue(self.ours.is_handled(uuids.server))
            self.assertFalse(self.ours.is_handled(uuids.off))
        self.assertFalse(self.ours.is_handled(uuids.server))

    def test_handled_until_it_fails(self):
        with (self.assertRaisesRegex(OSError, 'refused'),
              self.ours.handling(uuids.server)):
            raise OSError('refused')
        self.assertFalse(self.ours.is_handled(uuids.server))

    def test_pid(self):
        self.assertEqual(4711, self.ours.pid(uuids.server))
        self.assertRaises(LookupError, self.ours.pid, uuids.off)

    def test_released(self):
        self.ours.release(uuids.server)
        self.assertEqual([('release', 4711)], self.target.asked)

    def test_withheld(self):
        self.ours.withhold(uuids.server)
        self.assertEqual([('withhold', 4711)], self.target.asked)

    def test_what_cannot_be_withheld_is_logged(self):
        log = self.useFixture(fixtures.FakeLogger())
        self.target.error = fakes.refusal()
        for uuid in (uuids.server, uuids.off, uuids.gone):
            self.ours.withhold(uuid)
        self.assertIn('may run in real time without a CPU reservation until '
                      'the next audit', log.output)

    def test_what_was_refused_or_is_gone_ends_nothing(self):
        self.target.error = fakes.refusal()
        self.ours.guard()
        self.ours.settle()
        for uuid in (uuids.server, uuids.off, uuids.gone):
            self.ours.release(uuid)
        self.assertEqual([('guard',), ('settle',), ('release', 4711)],
                         self.target.asked)

    def test_kept_where_release_comes_with_the_group(self):
        self.target.releases_early = False
        self.ours.release(uuids.server)
        self.assertEqual([], self.target.asked)
