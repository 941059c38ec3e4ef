# SPDX-License-Identifier: Apache-2.0

"""What is tested here: a guest runs with its reservation or not at all."""

from oslotest import base

from nova_rt import exception
from nova_rt.virt.libvirt import guest
from tests.unit.virt.libvirt import fakes


class RTGuestTest(base.BaseTestCase):

    def guest(self, *args, **kwargs):
        self.driver = fakes.Reservations(*args, **kwargs)
        return guest.RTGuest(fakes.Domain(self.driver.events), self.driver)

    def test_applied_after_the_start(self):
        held = fakes.claim()
        self.guest(held).launch()
        self.assertEqual(['start 0', ('apply', 4711, held)],
                         self.driver.events)

    def test_pause_is_passed_on(self):
        self.guest(fakes.claim()).launch(pause=True)
        self.assertEqual('start 1', self.driver.events[0])

    def test_no_reservation(self):
        self.guest(None, interface=False).launch()
        self.assertEqual(['start 0'], self.driver.events)

    def test_not_started_where_the_kernel_has_no_interface(self):
        self.assertRaises(
            exception.ReservationNotApplied,
            self.guest(fakes.claim(), interface=False).launch)
        self.assertEqual([], self.driver.events)

    def test_ended_where_it_cannot_be_applied(self):
        for error in (fakes.refusal(), OSError('x'), KeyError('x')):
            running = self.guest(fakes.claim(), error)
            self.assertIs(error,
                          self.assertRaises(type(error), running.launch))
            self.assertEqual(['release', 'destroy', 'settle'],
                             self.driver.events[2:])
