# SPDX-License-Identifier: Apache-2.0

"""Tests how guests with soft reservations get other runtimes."""

import dataclasses

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import spare
from nova_rt.services.virt.libvirt import levels
from tests.unit import base
from tests.unit.services.virt.libvirt import fakes

PERIOD = 100_000


def claim(uuid, per_cent, period=PERIOD):
    return dataclasses.replace(fakes.claim(
        per_cent * period // 100, period, uuid=uuid), soft=True)


class Guests:
    """Reservations and an enforcer; guests by the share that they have."""

    def __init__(self, **shares):
        self.shares_now = shares
        self.changed = []
        self.refuses = ()
        self.busy = ()
        self.gone = ()
        self.enforcer = self

    def running(self):
        return [(uuid, number) for number, uuid
                in enumerate(self.shares_now, 1) if uuid not in self.gone]

    def is_handled(self, uuid):
        return uuid in self.busy

    def needed(self):
        return self

    def shares(self, pid):
        share = list(self.shares_now.values())[pid - 1]
        if share is None:
            raise exception.KernelError(interface='i', group='g', reason='r')
        return [((0,), reservation.Reservation(
            share * PERIOD // 100, PERIOD))] if share else []

    def change(self, held):
        uuid = held.instance_uuid
        if uuid in self.refuses:
            raise exception.KernelError(interface='i', group='g', reason='r')
        self.changed.append((uuid, held.reservation.runtime_us * 100
                             // held.reservation.period_us))


def target(uuid, *per_cent):
    return spare.Target(uuid, tuple(claim(uuid, each) for each in per_cent))


class LevelTest(base.TestCase):

    def level(self, guests, *targets, **options):
        levels.level(guests, targets, **options)
        return guests.changed

    def test_shorter_ones_first(self):
        guests = Guests(a=10, b=90, c=50, d=60)
        self.assertEqual([('b', 20), ('d', 50), ('a', 70)], self.level(
            guests, target('a', 70), target('b', 20), target('c', 50),
            target('d', 50)))

    def test_only_shorter_ones(self):
        guests = Guests(a=10, b=90)
        self.assertEqual([('b', 20)], self.level(
            guests, target('a', 70), target('b', 20), lowers_only=True))

    def test_guests_that_stay_as_they_are(self):
        """Off, unreserved yet, ended, and started or ended by Nova now."""
        guests = Guests(new=0, ended=None, busy=90)
        guests.busy = ('busy',)
        self.assertEqual([], self.level(guests, *(
            target(name, 20) for name in ('off', 'new', 'ended', 'busy'))))

    def test_without_an_enforcer(self):
        guests = Guests(a=10)
        guests.enforcer = None
        self.assertEqual([], self.level(guests, target('a', 70)))

    def test_a_resize(self):
        """The guest has either claim, and the room above goes."""
        for now, after in ((30, []), (40, []), (90, [('a', 40)]),
                           (35, [('a', 30)])):
            self.assertEqual(after, self.level(
                Guests(a=now), target('a', 30, 40)))

    def test_a_resize_to_another_period(self):
        both = spare.Target('a', (claim('a', 30), claim('a', 20, 50_000)))
        self.assertEqual([('a', 30)], self.level(Guests(a=90), both))

    def test_a_runtime_that_cannot_be_made_shorter(self):
        guests = Guests(a=90)
        guests.refuses = ('a',)
        self.assertRaises(exception.KernelError, self.level, guests,
                          target('a', 20))

    def test_a_guest_that_ends_meanwhile(self):
        guests = Guests(a=90)
        guests.refuses = ('a',)
        sees = iter(((), ('a',)))
        guests.running = lambda: [
            (uuid, 1) for uuid in ('a',) if uuid not in next(sees)]
        self.assertEqual([], self.level(guests, target('a', 20)))

    def test_a_runtime_that_cannot_be_made_longer(self):
        """The change waits for the next audit; other changes do not wait."""
        guests = Guests(a=10, b=10)
        guests.refuses = ('a',)
        self.assertEqual([('b', 60)], self.level(
            guests, target('a', 50), target('b', 60)))
