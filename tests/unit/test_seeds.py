# SPDX-License-Identifier: Apache-2.0

import unittest

import fixtures
from oslotest import base

from tests import seeds


class SeedsTest(base.BaseTestCase):

    def setUp(self) -> None:
        super().setUp()
        for name in ('NOVA_RT_SEED', 'NOVA_RT_SEQUENCES', 'NOVA_RT_DAY',
                     'NOVA_RT_KILL'):
            self.useFixture(fixtures.EnvironmentVariable(name))

    def set(self, name: str, value: str) -> None:
        self.useFixture(fixtures.EnvironmentVariable(name, value))

    def drawn(self, name: str) -> list[int]:
        return seeds.sample(name).sample(range(1000), 20)

    def test_a_day_has_one_sample(self) -> None:
        self.set('NOVA_RT_DAY', '2026-01-31')
        first = self.drawn('kill'), seeds.seed_of_the_day()
        self.assertEqual(first, (self.drawn('kill'), seeds.seed_of_the_day()))
        self.assertNotEqual(first[0], self.drawn('audit'))
        self.set('NOVA_RT_DAY', '2026-02-01')
        self.assertNotEqual(first[0], self.drawn('kill'))
        self.assertEqual(first[1] + 1, seeds.seed_of_the_day())

    def test_a_day_has_some_seeds(self) -> None:
        self.set('NOVA_RT_DAY', '2026-01-31')
        first = seeds.seeds_of_the_day('kernel', 5)
        self.assertEqual(first, seeds.seeds_of_the_day('kernel', 5))
        self.assertEqual(5, len(set(first)))
        self.set('NOVA_RT_DAY', '2026-02-01')
        self.assertNotEqual(first, seeds.seeds_of_the_day('kernel', 5))
        self.set('NOVA_RT_SEED', '7')
        self.assertEqual([7], seeds.seeds_of_the_day('kernel', 5))

    def test_today(self) -> None:
        self.assertRegex(seeds.day(), r'^\d{4}-\d\d-\d\d$')

    def test_a_seed_goes_before_the_day(self) -> None:
        self.set('NOVA_RT_SEED', '7')
        self.assertEqual(7, seeds.seed_of_the_day())

    def test_what_is_no_day(self) -> None:
        self.set('NOVA_RT_DAY', 'monday')
        self.assertRaises(ValueError, seeds.seed_of_the_day)

    def chosen(self) -> list[str]:
        suite = unittest.TestLoader().loadTestsFromTestCase(SeedsTest)
        load = seeds.load_of_the_day('kill', 3, 'NOVA_RT_KILL')
        chosen = load(unittest.TestLoader(), unittest.TestSuite([suite]), None)
        return [test.id() for test in chosen]

    def test_a_day_has_some_tests(self) -> None:
        self.set('NOVA_RT_DAY', '2026-01-31')
        self.assertEqual(3, len(set(self.chosen())))
        self.assertEqual(self.chosen(), self.chosen())
        days = set()
        for day in range(1, 30):
            self.set('NOVA_RT_DAY', f'2026-01-{day:02}')
            days |= set(self.chosen())
        self.set('NOVA_RT_KILL', '1')
        self.assertEqual(set(self.chosen()), days)

    def test_fixed(self) -> None:
        self.assertEqual([0, 1, 2], seeds.seeds(3))
        self.assertEqual(0, seeds.seed())
