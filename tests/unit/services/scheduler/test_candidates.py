# SPDX-License-Identifier: Apache-2.0

"""A client of Placement like Nova's; the test contains the answers.

tests.functional.test_scheduling asks a real Placement.
"""

import types

import fixtures
from keystoneauth1 import exceptions as ks_exceptions
from nova import context
from nova import exception as nova_exception
from nova.scheduler.client import report
from nova.scheduler import utils
import requests

from nova_rt.rules import hostmap
from nova_rt.services.scheduler import candidates
from nova_rt.services.scheduler import request_filter
from tests.unit import base

NOTHING = ([], {}, '1.36')
TENANT = ('No valid host was found. 1000 us every 2000 us (share 0.500) does '
          'not fit on 2 pCPUs of any host; choose a flavor with a smaller '
          'share (runtime / period) or fewer vCPUs')


def summary(total, share):
    return {'resources': {
        name: {'capacity': 1_900_000, 'used': 1_900_000 - free}
        for name, free in zip(hostmap.CLASSES, (total, share), strict=True)}}


class CandidatesTest(base.TestCase):

    def setUp(self):
        super().setUp()
        self.offered, self.asked, self.log = NOTHING, [], None
        self.able, self.summaries, self.status = [], {}, 200
        self.lost = None
        # MonkeyPatch would copy the mark of a method that the filter replaced.
        self.useFixture(fixtures.MockPatchObject(
            report.SchedulerReportClient, 'get_allocation_candidates',
            lambda client, context, resources: self.offered))
        self.log = self.useFixture(fixtures.FakeLogger())
        candidates.install()
        candidates.install()

    def get(self, path, version, global_request_id):
        self.asked.append(path.partition('?')[0])
        if self.lost == len(self.asked):
            raise ks_exceptions.ConnectFailure('no route')
        body = {'resource_providers': self.able, 'name': 'host1',
                'provider_summaries': self.summaries}
        answer = requests.Response()
        answer.status_code = self.status
        answer.json = lambda: body
        return answer

    def ask(self, specs=None, resources=None):
        spec = base.request_spec(
            base.extra_specs(1000, 2000) if specs is None else specs, vcpus=2)
        admin = context.get_admin_context()
        request_filter.require_rt_bandwidth(admin, spec)
        return self.candidates(
            resources or utils.ResourceRequest.from_request_spec(spec))

    def candidates(self, resources):
        return report.SchedulerReportClient.get_allocation_candidates(
            types.SimpleNamespace(get=self.get),
            context.get_admin_context(), resources)

    def refused(self):
        error = self.assertRaises(nova_exception.NoValidHost, self.ask)
        return str(error)

    def test_the_largest_is_for_the_operator_only(self):
        self.summaries = {'u1': summary(900_000, 100_000),
                          'u2': summary(200_000, 400_000)}
        self.assertEqual(TENANT, self.refused())
        self.assertIn(
            'the largest free CUSTOM_RT_BANDWIDTH is 0.900 pCPUs (host1), '
            'the largest free CUSTOM_RT_SHARE is 0.400 pCPUs (host1)',
            self.log.output)
        self.assertEqual([
            '/resource_providers', '/allocation_candidates',
            '/resource_providers/u1', '/resource_providers/u2'], self.asked)

    def test_nothing_is_free(self):
        self.assertEqual(TENANT, self.refused())
        self.assertIn('no host with the trait CUSTOM_HCBS has any free '
                      'CUSTOM_RT_SHARE', self.log.output)

    def test_placement_that_does_not_answer_twice(self):
        self.status = 500
        self.assertEqual(TENANT, self.refused())
        self.assertIn('Placement did not say what is free',
                      self.log.output)

    def test_placement_that_is_lost_meanwhile(self):
        self.summaries = {'u1': summary(900_000, 100_000)}
        for self.lost in range(1, 5):
            self.asked.clear()
            self.assertEqual(TENANT, self.refused())
            self.assertLessEqual(self.lost, len(self.asked))

    def test_a_class_that_nobody_has(self):
        self.summaries = {'u1': {'resources': {
            hostmap.SHARE_CLASS: {'capacity': 5, 'used': 0}}}}
        self.assertEqual(TENANT, self.refused())
        self.assertIn('no host has CUSTOM_RT_BANDWIDTH', self.log.output)

    def test_something_else_does_not_fit(self):
        self.able = [{'uuid': 'u1'}]
        self.assertEqual(
            'No valid host was found. no host has room for 1000 us every '
            '2000 us (share 0.500) on 2 pCPUs together with everything else '
            'that the flavor and the request ask for', self.refused())
        self.assertIn('1 host has room for 1000 us every 2000 us (share '
                      '0.500) on 2 pCPUs, but not for everything else',
                      self.log.output)
        self.assertIn('2 of VCPU', self.log.output)

    def test_a_request_that_hosts_are_offered_for_costs_nothing(self):
        self.offered = ([{'allocations': {}}], {}, '1.36')
        self.assertEqual(self.offered, self.ask())
        self.assertEqual([], self.asked)

    def test_no_answer_of_placement_is_left_to_nova(self):
        for self.offered in ((None, None, None), None):
            self.assertEqual(self.offered, self.ask())
        self.assertEqual([], self.asked)

    def test_a_server_without_a_reservation_is_left_to_nova(self):
        self.refused()
        self.asked.clear()
        self.assertEqual(NOTHING, self.ask({}))
        self.assertEqual([], self.asked)

    def test_a_reservation_that_was_refused_before_is_forgotten(self):
        candidates.expect(base.request_spec(), base.share(1), 1)
        self.assertEqual(NOTHING, self.ask({}))

    def test_nova_asks_again_for_vcpus_in_the_place_of_pcpus(self):
        pinned = types.SimpleNamespace(cpu_pinning_requested=True)
        self.assertEqual(NOTHING, self.ask(resources=pinned))
        self.assertEqual([], self.asked)
        error = self.assertRaises(
            nova_exception.NoValidHost, self.candidates,
            utils.ResourceRequest())
        self.assertEqual(TENANT, str(error))
