# SPDX-License-Identifier: Apache-2.0

import contextlib
import unittest

import numpy as np

from paper import isolation

TIMES = {'fair-quiet': 100.0, 'fair-noise': 9000.0,
         'reservation-quiet': 200.0, 'reservation-noise': 300.0}


class Server:
    """Answers by title; notes what was going on."""

    def __init__(self):
        self.scheduler = None
        self.noisy = False
        self.seen = []
        self.reserved = []

    @contextlib.contextmanager
    def running(self, scheduler):
        self.scheduler = scheduler
        yield ['client']
        self.scheduler = None

    @contextlib.contextmanager
    def noise(self, scheduler):
        self.noisy = True
        self.reserved.append(scheduler)
        yield
        self.noisy = False

    def measure(self, client, title):
        self.seen.append((title, self.scheduler, self.noisy, client))
        return [np.full(50, TIMES[title]), np.full(50, TIMES[title])]


class IsolationTest(unittest.TestCase):

    def run_all(self):
        server = Server()
        return server, isolation.run(server, server.noise)

    def test_cases(self):
        server, cases = self.run_all()
        self.assertEqual(
            [('fair-quiet', 'fair', False, ['client']),
             ('fair-noise', 'fair', True, ['client']),
             ('reservation-quiet', 'reservation', False, ['client']),
             ('reservation-noise', 'reservation', True, ['client'])],
            server.seen)
        self.assertEqual(['fair', 'reservation'], server.reserved)
        self.assertEqual(100, len(np.concatenate(cases['fair', True])))

    def test_table(self):
        _, cases = self.run_all()
        text = isolation.table(cases)
        self.assertRegex(text, 'fair +yes +9000 +9000 +9000 .* 0.0 % +10614')
        self.assertRegex(text, 'fair +no +100 +100 +100 .* 100.0 % +980')
        self.assertIn('with noise over without: 1.500;', text)
        self.assertRegex(isolation.table(cases, 2), (
            'Below 4000 us(.*\n)+fair +yes +9000 .* 21228'))
        self.assertIn('fair over reservation: 30.0', text)
