# SPDX-License-Identifier: Apache-2.0

"""Tests that a guest runs with its reservation or not at all."""

import contextlib
from typing import Any
from unittest import mock

import libvirt
from oslotest import base

from nova_rt.rules import exception
from nova_rt.services.virt.libvirt import guest
from tests.unit.services.virt.libvirt import fakes


class RTGuestTest(base.BaseTestCase):

    def guest(self, *args, **kwargs):
        self.driver = fakes.Reservations(*args, **kwargs)
        return guest.RTGuest(fakes.Domain(self.driver.events), self.driver)

    def test_applied_after_the_start(self):
        held = fakes.claim()
        self.guest(held).launch()
        self.assertEqual(['guard', 'start 0', ('apply', 4711, held)],
                         self.driver.events)

    def test_started_paused(self):
        """No code of a virtual machine runs without its reservation."""
        held = fakes.claim()
        self.guest(held, pauses=True).launch()
        self.assertEqual(
            ['guard', 'start 1', ('apply', 4711, held), 'resume'],
            self.driver.events)

    def test_nobody_else_touches_it_meanwhile(self):
        """An audit and the event of the start leave the guest alone."""
        running = self.guest(fakes.claim(), fakes.refusal())
        self.assertRaises(exception.KernelError, running.launch)
        self.assertEqual([True, True], self.driver.alone)
        running.poweroff()
        self.assertEqual([True] * 3, self.driver.alone)

    def test_stays_paused_where_nova_wants_it(self):
        self.guest(fakes.claim(), pauses=True).launch(pause=True)
        self.assertNotIn('resume', self.driver.events)

    def test_not_resumed_where_it_cannot_be_applied(self):
        running = self.guest(fakes.claim(), fakes.refusal(), pauses=True)
        self.assertRaises(exception.KernelError, running.launch)
        self.assertEqual(['release', 'destroy', 'settle'],
                         self.driver.events[3:])

    def test_pause_is_passed_on(self):
        self.guest(fakes.claim()).launch(pause=True)
        self.assertEqual('start 1', self.driver.events[1])

    def test_no_reservation(self):
        """The guest is not paused; the guard also runs for this guest."""
        self.guest(None, interface=False, pauses=True).launch()
        self.assertEqual(['guard', 'start 0', 'withhold'],
                         self.driver.events)

    def test_not_started_where_the_kernel_has_no_interface(self):
        self.assertRaises(
            exception.ReservationNotApplied,
            self.guest(fakes.claim(), interface=False).launch)
        self.assertEqual(['guard'], self.driver.events)

    def test_ended_where_it_cannot_be_applied(self):
        for error in (fakes.refusal(), OSError('x'), KeyError('x')):
            running = self.guest(fakes.claim(), error)
            self.assertIs(error,
                          self.assertRaises(type(error), running.launch))
            self.assertEqual(['release', 'destroy', 'settle'],
                             self.driver.events[3:])
            self.assertEqual(1, self.driver.missed)


class Domain:
    """libvirt's, while it migrates."""

    DISKS = {'vda': 2**30, 'vdb': 2**31}

    def __init__(self, fails: bool) -> None:
        self.fails = fails
        self.speeds: list[int] = []

    def UUIDString(self) -> str:
        return 'a server'

    def migrateGetMaxSpeed(self) -> int:
        return 500

    def migrateSetMaxSpeed(self, speed: int) -> None:
        self.speeds.append(speed)

    def blockInfo(self, disk: str) -> list[int]:
        return [self.DISKS[disk], 0, 0]

    def migrateToURI3(self, destination: str, params: dict[str, Any],
                      flags: int) -> None:
        self.speeds.append(params['bandwidth'])
        if self.fails:
            raise libvirt.libvirtError('aborted')


class MigrateTest(base.BaseTestCase):
    """Tests the speeds at which a guest is sent to its destination."""

    def migrate(self, fails: bool = False, **kwargs: Any) -> list[int]:
        owed = mock.Mock()
        owed.awaited.return_value = mock.Mock(return_value=False)
        domain = Domain(fails)
        moving = guest.RTGuest(domain, owed)
        with contextlib.suppress(libvirt.libvirtError):
            moving.migrate('there', **kwargs)
        return domain.speeds

    def test_shared_disks(self) -> None:
        self.assertEqual([1], self.migrate())

    def test_copied_disks(self) -> None:
        """Disks are not sent at the low speed for memory."""
        self.assertEqual([102], self.migrate(migrate_disks=['vda', 'vdb']))

    def test_limit(self) -> None:
        self.assertEqual([7], self.migrate(
            migrate_disks=['vda', 'vdb'], bandwidth=7))

    def test_failed(self) -> None:
        """The next one is not slow for ever."""
        self.assertEqual([1, 500], self.migrate(fails=True))
