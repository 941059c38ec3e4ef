# SPDX-License-Identifier: Apache-2.0

"""Tests the claims of a server that count on a host."""

import types

import fixtures
from oslo_utils.fixture import uuidsentinel as uuids

from nova_rt.rules import hostmap
from nova_rt.services.compute import counting
from tests.unit import base

HERE, THERE = 'here', 'there'


def resource(provider, text):
    """A claim; what it says is not looked at."""
    return types.SimpleNamespace(
        provider_uuid=provider, resource_class=hostmap.RESOURCE_CLASS,
        identifier=f'{uuids.server}/{text}')


OURS, THEIRS = resource(uuids.here, 'ours'), resource(uuids.there, 'theirs')


class KeptTest(base.TestCase):

    def server(self, host=THERE, held=(), task=None, state='active',
               status=None, kind='resize', old=(), new=()):
        context = None
        if status:
            context = types.SimpleNamespace(
                migration_id=1, old_resources=old, new_resources=new)
            self.useFixture(fixtures.MonkeyPatch(
                'nova.objects.Migration.get_by_id',
                lambda *args: types.SimpleNamespace(
                    status=status, migration_type=kind)))
        return types.SimpleNamespace(
            host=host, resources=held, task_state=task, vm_state=state,
            deleted=False, migration_context=context, _context=None)

    def count(self, expected, runs=False, **kwargs):
        found = counting.resources(
            self.server(**kwargs), HERE, {uuids.here}, runs)
        self.assertEqual({each.identifier for each in expected},
                         {each.identifier for each in found})

    def test_it_is_here(self):
        self.count([OURS], host=HERE, held=[OURS])

    def test_it_is_elsewhere(self):
        self.count([], held=[OURS])
        self.count([], held=[THEIRS])

    def test_it_was_deleted(self):
        server = self.server(host=HERE, held=[OURS])
        server.deleted = True
        self.assertEqual(
            [], counting.resources(server, HERE, {uuids.here}, True))

    def test_it_is_about_to_be_deleted_or_offloaded(self):
        """Nova counts it no more, and would not release it again."""
        for state in ('deleted', 'shelved_offloaded'):
            self.count([], host=HERE, held=[OURS], state=state)
            self.count([], host=HERE, held=[OURS], state=state, runs=True)

    def test_evacuated_in_any_state(self):
        for state, task in (('error', 'rebuilding'), ('active', None),
                            ('active', 'powering-off')):
            self.count([OURS], held=[THEIRS], state=state, task=task,
                       status='pre-migrating', kind='evacuation',
                       old=[THEIRS], new=[OURS])

    def test_the_evacuation_failed(self):
        for status in ('failed', 'error', 'done'):
            self.count([], held=[THEIRS], state='error', status=status,
                       kind='evacuation', new=[OURS])

    def test_on_its_way_back(self):
        self.count([OURS], held=[OURS], state='resized', status='reverted',
                   task='resize_reverting', old=[OURS], new=[THEIRS])

    def test_on_its_way_back_from_here(self):
        self.count([], held=[THEIRS], state='resized', status='reverted',
                   task='resize_reverting', old=[THEIRS], new=[OURS])

    def test_it_is_back(self):
        self.count([], host=THERE, held=[THEIRS], status='reverted',
                   old=[OURS], new=[THEIRS])

    def test_end_of_a_live_migration(self):
        self.count([OURS], held=[OURS], task='migrating')

    def test_its_guest_runs_here(self):
        self.count([OURS], runs=True, held=[THEIRS], status='error',
                   kind='live-migration', old=[THEIRS], new=[OURS])

    def test_a_resize_that_was_given_up(self):
        self.count([], held=[THEIRS], status='migrating', task='rebooting',
                   old=[THEIRS], new=[OURS])

    def test_is_over(self):
        self.assertTrue(counting.is_over(self.server()))
        self.assertFalse(counting.is_over(self.server(task='rebooting')))
        self.assertFalse(counting.is_over(self.server(
            status='pre-migrating', kind='evacuation')))
