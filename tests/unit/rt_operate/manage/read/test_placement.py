# SPDX-License-Identifier: Apache-2.0

from unittest import mock

import fixtures
import requests

from nova_rt.rules import hostmap
from rt_operate.manage.read import placement
from tests.unit import base as unit_base
from tests.unit.rt_operate.manage import base

CONSUMER = base.server_id(1)


def answer(status=204, code='', detail=''):
    found = requests.Response()
    found.status_code = status
    found._content = (f'{{"errors": [{{"code": "{code}", '
                      f'"detail": "{detail}"}}]}}').encode()
    return found


class SetAmountsTest(unit_base.TestCase):

    def setUp(self):
        super().setUp()
        self.client = mock.Mock()
        self.client.put.return_value = answer()
        for name, new in (
                ('report.report_client_singleton', lambda: self.client),
                ('time.sleep', mock.Mock())):
            self.useFixture(fixtures.MonkeyPatch(
                f'rt_operate.manage.read.placement.{name}', new))
        self.placement = placement.Placement(mock.Mock(global_id='req-1'))
        self.held({'VCPU': 1, hostmap.SHARE_CLASS: 5})

    def held(self, resources):
        self.client.get_allocs_for_consumer.return_value = {
            'allocations': {
                base.PROVIDER: {'generation': 3, 'resources': resources},
                'other': {'generation': 9, 'resources': {'DISK_GB': 1}}},
            'consumer_generation': 4, 'project_id': 'p', 'user_id': 'u'}

    def set(self, still=lambda: True, **amounts):
        return self.placement.set_amounts(CONSUMER, base.PROVIDER, amounts,
                                          still)

    @property
    def payload(self):
        return self.client.put.call_args.args[1]

    def test_the_rest_is_left_alone(self):
        self.assertTrue(self.set(CUSTOM_RT_BANDWIDTH=9, CUSTOM_RT_SHARE=0))
        self.assertEqual(
            {'allocations': {
                base.PROVIDER: {'resources': {
                    'VCPU': 1, 'CUSTOM_RT_BANDWIDTH': 9}},
                'other': {'resources': {'DISK_GB': 1}}},
             'consumer_generation': 4, 'project_id': 'p', 'user_id': 'u'},
            self.payload)

    def test_a_provider_without_anything_goes(self):
        self.held({hostmap.SHARE_CLASS: 5})
        self.set(CUSTOM_RT_SHARE=0)
        self.assertEqual({'other'}, set(self.payload['allocations']))

    def test_conflicts_are_tried_again_and_asked_again(self):
        conflict = answer(409, 'placement.concurrent_update')
        self.client.put.side_effect = [conflict, conflict, answer()]
        asked = mock.Mock(return_value=True)
        self.assertTrue(self.set(asked, CUSTOM_RT_SHARE=7))
        self.assertEqual(3, asked.call_count)
        self.client.put.side_effect = lambda *args, **kwargs: conflict
        error = self.assertRaises(placement.PlacementError, self.set,
                                  CUSTOM_RT_SHARE=7)
        self.assertIn('other clients keep changing', str(error))

    def test_not_wanted_any_more(self):
        self.assertFalse(self.set(lambda: False, CUSTOM_RT_SHARE=7))
        self.client.put.assert_not_called()

    def test_no_room(self):
        self.client.put.return_value = answer(
            409, 'placement.undefined_code', 'no room')
        error = self.assertRaises(placement.PlacementError, self.set,
                                  CUSTOM_RT_SHARE=7)
        self.assertIn('no room (HTTP 409)', str(error))

    def test_it_is_gone_meanwhile(self):
        self.client.get_allocs_for_consumer.return_value = {
            'allocations': {}}
        error = self.assertRaises(placement.PlacementError, self.set,
                                  CUSTOM_RT_SHARE=7)
        self.assertIn('no longer holds an allocation', str(error))

    def test_what_is_not_there_and_what_fails(self):
        self.client.get.return_value = answer(404)
        self.assertIsNone(self.placement.allocations('x'))
        self.assertEqual({}, self.placement.inventories('x'))
        self.assertFalse(self.placement.has_class('x'))
        self.client.get.return_value = answer(503, detail='busy')
        error = self.assertRaises(placement.PlacementError,
                                  self.placement.allocations, 'x')
        self.assertIn('busy (HTTP 503)', str(error))
