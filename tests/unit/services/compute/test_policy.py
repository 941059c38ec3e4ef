# SPDX-License-Identifier: Apache-2.0

"""Tests which packing policy a host has."""

import fixtures
import nova.conf
from nova import exception as nova_exception
from nova import objects

from nova_rt.rules.packing import policies
from nova_rt.services.compute import policy
from tests.unit import base

CONF = nova.conf.CONF


class PolicyTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.before = policy.of_option(CONF)

    def found(self, *names, before=None, error=None):
        """The policy of a host in aggregates with these values."""
        aggregates = [objects.Aggregate(
            name=f'rack{number}', metadata={policy.KEY: name})
            for number, name in enumerate(names, 1)]
        with fixtures.MockPatchObject(
                objects.AggregateList, 'get_by_host', side_effect=error,
                return_value=aggregates):
            return policy.of_host(None, 'host1', CONF, before or self.before)

    def test_the_option(self):
        self.config(packing_policy='first_fit')
        self.assertEqual(policy.Policy('first_fit', policies.first_fit),
                         self.found())

    def test_an_aggregate(self):
        wanted = policy.Policy('best_fit', policies.best_fit)
        self.assertEqual(wanted, self.found('best_fit'))
        self.assertEqual(wanted, self.found('best_fit', 'best_fit'))
        self.assertIn('pCPUs are chosen by best_fit now', self.log.output)
        self.assertEqual(2, self.log.output.count('best_fit'))
        self.found('best_fit', before=wanted)
        self.assertEqual(2, self.log.output.count('best_fit'))

    def test_unknown(self):
        found = self.found('magic')
        self.assertIn("the host aggregate rack1 has nova_rt:packing_policy="
                      "magic, but no entry point of group nova_rt.packing has "
                      "this name; install the policy", found.reason)
        self.assertIn(found.reason, self.log.output)

    def test_contradiction(self):
        self.assertIn('(rack1: best_fit, rack2: worst_fit); give it the same '
                      'value', self.found('best_fit', 'worst_fit').reason)

    def test_unreadable(self):
        """The conductor has no API database: the policy stays."""
        before = policy.Policy('best_fit', policies.best_fit)
        found = self.found(before=before,
                           error=nova_exception.AggregateNotFound(
                               aggregate_id=1))
        self.assertIs(before, found)
        self.assertIn('its packing policy stays best_fit', self.log.output)
