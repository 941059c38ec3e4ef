# SPDX-License-Identifier: Apache-2.0

"""Tests the shares of the guests with soft reservations of a host."""

import dataclasses

import fixtures
from nova import exception as nova_exception
from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.compute import spare
from tests.unit import base

PERIOD = 100_000


def claim(uuid, per_cent, *ids, soft=True, move=0):
    return claims.RTClaim(uuid, move, reservation.Reservation(
        per_cent * PERIOD // 100, PERIOD), ids or (0,), soft=soft)


class Tracker:
    """A host with claims and strangers; its driver notes the targets."""

    def __init__(self, *held, strangers=()):
        self.driver = self
        self.rt_capacity = self
        self.empty = cpus.CpuBandwidth.empty((0, 1), 950_000)
        self.rt_strangers = strangers
        self.held = list(held)
        self.asked = []
        self.error = None

    def rt_claims(self):
        return self.held

    def rt_state(self):
        return self.empty.fold(claims.counted(self.held, self.empty)).fold(
            share for each in self.rt_strangers for share in each.shares)

    def rt_level(self, targets, lowers_only=False):
        self.asked.append((targets, lowers_only))
        if self.error:
            raise self.error


class TargetsTest(base.TestCase):

    def granted(self, tracker, *more):
        return {target.uuid: [each.reservation.runtime_us * 100 // PERIOD
                              for each in target.allowed]
                for target in spare.targets(tracker, more)}

    def test_what_is_free(self):
        self.assertEqual({uuids.a: [55], uuids.c: [95]}, self.granted(
            Tracker(claim(uuids.a, 30), claim(uuids.b, 40, soft=False),
                    claim(uuids.c, 10, 1))))

    def test_nobody_is_soft(self):
        self.assertEqual({}, self.granted(Tracker(
            claim(uuids.b, 40, soft=False))))

    def test_strangers_count(self):
        stranger = hostmap.Stranger('u', 'n', (
            ((0,), reservation.Reservation(20, 100)),))
        self.assertEqual({uuids.a: [75]}, self.granted(Tracker(
            claim(uuids.a, 30), strangers=(stranger,))))

    def test_a_resize_gets_nothing_above(self):
        """The guest has either claim, and the larger one counts."""
        for kinds in ((True, True), (True, False), (False, True)):
            own = [claim(uuids.a, per_cent, soft=kind, move=number)
                   for number, (per_cent, kind) in enumerate(zip(
                       (30, 40), kinds, strict=True))]
            self.assertEqual(
                {uuids.a: [30, 40], uuids.b: [55]},
                self.granted(Tracker(*own, claim(uuids.b, 10))))

    def test_a_claim_that_is_about_to_be_made(self):
        tracker = Tracker(claim(uuids.a, 30),
                          claim(uuids.b, 10, soft=False))
        self.assertEqual({uuids.a: [85]}, self.granted(tracker))
        self.assertEqual({uuids.a: [45]}, self.granted(
            tracker, claim(uuids.b, 50, soft=False)))
        self.assertEqual(
            {uuids.a: [30, 50]}, self.granted(tracker, dataclasses.replace(
                claim(uuids.a, 50), move=1)))


class LevelTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.tracker = Tracker(claim(uuids.a, 30))
        self.error = exception.KernelError(
            interface='i', group='g', reason='it is busy')

    def test_room_is_made_by_shorter_runtimes_only(self):
        spare.make_room(self.tracker)
        (_, lowers_only), = self.tracker.asked
        self.assertTrue(lowers_only)

    def test_a_claim_is_refused_without_room(self):
        self.tracker.error = self.error
        logged = self.useFixture(fixtures.FakeLogger())
        error = self.assertRaises(
            nova_exception.ComputeResourcesUnavailable, spare.make_room,
            self.tracker)
        self.assertIn('cannot be given a shorter runtime', logged.output)
        self.assertNotIn('busy', str(error))

    def test_an_audit_goes_on(self):
        self.tracker.error = self.error
        logged = self.useFixture(fixtures.FakeLogger())
        spare.level(self.tracker)
        self.assertIn('was not divided', logged.output)

    def test_a_release_goes_on_without_libvirt(self):
        for error in (LookupError('gone'),
                      nova_exception.HypervisorUnavailable(host='a')):
            self.tracker.error = error
            logged = self.useFixture(fixtures.FakeLogger())
            spare.level(self.tracker)
            self.assertIn('was not divided', logged.output)
