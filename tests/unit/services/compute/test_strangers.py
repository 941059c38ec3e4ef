# SPDX-License-Identifier: Apache-2.0

"""Tests who is a stranger, and on which pCPUs each counts."""

import types

import hypothesis
from hypothesis import strategies

from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.services.compute import strangers
from tests.unit import base

HALF = reservation.Reservation(50, 100)
SMALL = reservation.Reservation(10, 100)
CAP = 950_000


def stranger(*held, uuid='u', name='instance-7'):
    return hostmap.Stranger(uuid, name, held)


def server(host, deleted=False, task=None):
    return types.SimpleNamespace(host=host, deleted=deleted, task_state=task,
                                 migration_context=None)


class ElsewhereTest(base.TestCase):

    def test_is_elsewhere(self):
        for expected, instance in (
                (True, server('there')), (True, server(None)),
                (False, server('here')), (False, server('there', True)),
                (False, server('there', task='migrating'))):
            self.assertEqual(expected, strangers.is_elsewhere(
                instance, 'here'), instance)

    def test_located(self):
        found = strangers.located(
            [stranger(((0,), HALF), uuid=uuid) for uuid in 'abc'],
            {'a': server('there'), 'b': server(None)})
        self.assertEqual(['on there', 'on no host', ''],
                         [each.elsewhere for each in found])
        placed = strangers.place(found, cpus.CpuBandwidth.empty((0, 1), CAP))
        self.assertEqual(found[0].elsewhere, placed[0].elsewhere)


class PlaceTest(base.TestCase):

    def place(self, state, *found):
        placed = strangers.place(found, state)
        return placed, state.fold(strangers.all_shares(placed))

    def test_as_the_kernel_has_it(self):
        empty = cpus.CpuBandwidth.empty(range(4), CAP)
        placed, state = self.place(
            empty, stranger(((1,), HALF), ((3,), HALF), ((0,), SMALL)))
        self.assertEqual((((1, 3), HALF), ((0,), SMALL)), placed[0].shares)
        self.assertEqual((100_000, 500_000, 0, 500_000), state.used)
        self.assertEqual(600_000, state.charged)

    def test_two_vcpus_on_one_pcpu(self):
        empty = cpus.CpuBandwidth.empty(range(2), CAP)
        _, state = self.place(
            empty, stranger(((1,), SMALL), ((1,), SMALL)))
        self.assertEqual((0, 200_000), state.used)

    def test_without_a_place(self):
        """Global EDF: they are counted where most is left."""
        state = cpus.CpuBandwidth.empty(range(3), CAP).claim((0,), HALF)
        placed, state = self.place(
            state, stranger(((), HALF), ((), HALF), ((), SMALL)))
        self.assertEqual(((1, 2), HALF), placed[0].shares[0])
        self.assertEqual(1_600_000, sum(state.used))
        self.assertEqual(600_000, max(state.used))

    def test_pcpus_that_are_not_offered(self):
        empty = cpus.CpuBandwidth.empty((0, 1), CAP)
        placed, state = self.place(
            empty, stranger(((7,), HALF)), stranger(((1, 7), SMALL)))
        self.assertEqual([(((1,), SMALL),)], [each.shares for each in placed])
        self.assertEqual((0, 100_000), state.used)

    def test_where_a_share_is_granted_everywhere(self):
        empty = cpus.CpuBandwidth.empty((0, 1), CAP, True)
        placed, state = self.place(empty, stranger(((0, 1, 7), HALF)))
        self.assertEqual((((0, 1), HALF),), placed[0].shares)
        self.assertEqual(500_000, state.charged)
        self.assertEqual(450_000, state.free(0))

    def test_a_host_that_offers_nothing(self):
        placed, _ = self.place(cpus.CpuBandwidth.empty((), 0),
                               stranger(((0,), HALF), ((), HALF)))
        self.assertEqual((), placed)

    def test_the_sentence(self):
        text = strangers.sentence(stranger(((0, 1), HALF), ((2,), SMALL)))
        self.assertIn('the guest instance-7 (u) runs here with 50 us every '
                      '100 us (share 0.500) on pCPUs 0-1 and 10 us every 100 '
                      'us (share 0.100) on pCPU 2, and', text)

    def test_the_sentence_of_one_that_is_elsewhere(self):
        """Two guests with the same disks would damage them."""
        found, = strangers.located([stranger(((0,), HALF))],
                                   {'u': server('there')})
        text = strangers.sentence(found)
        self.assertIn("and Nova's database has it on there: the bandwidth of "
                      'the guest is not offered to others; end the guest '
                      'here before its server is started again; see', text)
        self.assertNotIn('does not have it', text)

    @base.PROPERTY
    @hypothesis.given(strategies.lists(strategies.tuples(
        strategies.one_of(strategies.just(()), strategies.tuples(
            strategies.integers(0, 3))),
        strategies.sampled_from((HALF, SMALL))), max_size=9))
    def test_nothing_is_lost(self, held):
        """Placement, the map and the kernel say the same sum."""
        empty = cpus.CpuBandwidth.empty(range(4), CAP)
        placed, state = self.place(empty, stranger(*held))
        total = sum(each.bandwidth for _, each in held)
        self.assertEqual(total, sum(state.used))
        reserved = hostmap.inventories(empty, placed)[
            hostmap.RESOURCE_CLASS]['reserved']
        self.assertEqual(min(4_000_000, 200_000 + total), reserved)
