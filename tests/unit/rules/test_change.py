# SPDX-License-Identifier: Apache-2.0

import dataclasses
import random

from nova_rt.rules import change
from nova_rt.rules import cpus
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation
from tests.unit import base

CAP = 950_000


def share(per_mille: int) -> reservation.Reservation:
    return reservation.Reservation(per_mille * 100, 100_000)


def host(count: int, *claims: cpus.Claim, **options: object
         ) -> cpus.CpuBandwidth:
    return cpus.CpuBandwidth.empty(
        range(count), CAP, **options).fold(claims)  # type: ignore[arg-type]


class FitTest(base.TestCase):

    def test_stays_where_it_fits(self) -> None:
        state = host(3, ((0, 1), share(300)), ((0,), share(400)))
        self.assertEqual((0, 1), change.fit(
            state, (0, 1), share(300), share(550), policies.worst_fit))

    def test_only_what_does_not_fit_leaves(self) -> None:
        state = host(4, ((1, 0), share(300)), ((0,), share(500)),
                     ((2,), share(100)))
        self.assertEqual((1, 3), change.fit(
            state, (1, 0), share(300), share(600), policies.worst_fit))
        self.assertIsNone(change.fit(
            state, (1, 0), share(300), share(600), policies.worst_fit,
            stays=True))

    def test_does_not_fit(self) -> None:
        state = host(2, ((0, 1), share(300)), ((0,), share(500)))
        self.assertIsNone(change.fit(
            state, (0, 1), share(300), share(600), policies.worst_fit))

    def test_charged_everywhere(self) -> None:
        state = host(4, ((0, 1), share(300)), ((2,), share(500)),
                     replicated=True)
        self.assertEqual((0, 1), change.fit(
            state, (0, 1), share(300), share(450), policies.worst_fit))
        self.assertIsNone(change.fit(
            state, (0, 1), share(300), share(451), policies.worst_fit))

    def test_both_count_under_fixed_priorities(self) -> None:
        """Both reservations count until the resize is confirmed."""
        rule = base.FIXED
        state = host(2, ((0,), share(400)), rule=rule)
        for both, found in ((False, (0,)), (True, (1,))):
            self.assertEqual(found, change.fit(
                state, (0,), share(400), share(700), policies.worst_fit,
                both=both))

    def test_divided_where_it_must_be(self) -> None:
        state = dataclasses.replace(host(
            1, ((0,), share(450)), ((0,), share(50)), replicated=True,
            rule=base.FIXED), min_divided_us=100)
        for least_us, found in ((0, None), (100, (0,))):
            state = dataclasses.replace(state, min_divided_us=least_us)
            self.assertEqual(found, change.fit(
                state, (0,), share(50), share(350), policies.worst_fit))
        rest = change.without(state, (0,), share(50))
        self.assertEqual({0: (share(450),)}, rest.servers)
        self.assertGreater(cpus.divisor(rest, (0,), share(350)), 1)

    def test_never_beyond_the_cap(self) -> None:
        """While some vCPUs have the old and some the new reservation."""
        chance = random.Random(34)  # noqa: S311
        fitted = 0
        for _ in range(2000):
            others = [((cpu,), share(chance.randrange(50, 700, 50)))
                      for cpu in range(4) if chance.random() < 0.7]
            old, wanted = (share(chance.randrange(50, 900, 50))
                           for _ in range(2))
            held = tuple(chance.sample(range(4), chance.randint(1, 3)))
            state = host(4, *others, (held, old))
            if max(state.used) > CAP:
                continue
            found = change.fit(state, held, old, wanted, policies.best_fit)
            if found is None:
                continue
            fitted += 1
            self.assertEqual(len(held), len(set(found)))
            both = host(4, *others, *change.larger(
                [(held, old), (found, wanted)]))
            self.assertLessEqual(max(both.used), CAP)
        self.assertGreater(fitted, 300)


class LargerTest(base.TestCase):

    def test_larger(self) -> None:
        self.assertEqual(
            [((0, 1), share(300))],
            change.larger([((0, 1), share(200)), ((0, 1), share(300))]))
        self.assertEqual(
            [((1, 2), share(300)), ((0,), share(200))],
            change.larger([((0, 1), share(200)), ((1, 2), share(300))]))
        self.assertEqual(
            [((0, 1, 2), share(300))],
            change.larger([((0, 1), share(200)), ((1, 2), share(300))],
                          replicated=True))
