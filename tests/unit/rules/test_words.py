# SPDX-License-Identifier: Apache-2.0

"""Tests for nova_rt.rules.words."""

import unittest

from nova_rt.rules import words


class WordsTest(unittest.TestCase):

    def test_count(self):
        self.assertEqual('1 group', words.count(1, 'group'))
        self.assertEqual('0 groups', words.count(0, 'group'))
        self.assertEqual('2 hosts have', words.count(
            2, 'host has', 'hosts have'))

    def test_each(self):
        self.assertEqual('1 vCPU', words.each(1, 'vCPU'))
        self.assertEqual('each of 2 vCPUs', words.each(2, 'vCPU'))

    def test_ids(self):
        self.assertEqual('pCPU 1', words.ids((1,)))
        self.assertEqual('pCPUs 3,1-2', words.ids((3, 1, 2)))
        self.assertEqual('CPUs 0-3', words.ids(range(4), 'CPU'))
