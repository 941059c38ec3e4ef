# SPDX-License-Identifier: Apache-2.0

"""Tests requests through the middleware, to an app behind.

Only the databases and Glance are replaced, where they are asked.
"""

import json
import logging
import os

import fixtures

from nova import context
from nova import exception as nova_exception
from nova import objects
from oslo_policy import opts
from oslo_utils.fixture import uuidsentinel as uuids
import webob
import webob.dec

from nova_rt.services.api import middleware
from nova_rt.services.compute import request
from tests.unit import base

RUNTIME, PERIOD = 'cpu.rt_runtime_us', 'cpu.rt_period_us'
SPECS = base.extra_specs(100_000, 200_000)
HINTS = 'os:scheduler_hints'


class _Case(base.TestCase):

    #: of each flavor
    vcpus = 1

    def setUp(self):
        super().setUp()
        self.flavors = {'1': SPECS, 'plain': {}, uuids.flavor: SPECS}
        self.useFixture(fixtures.MockPatchObject(
            objects.Flavor, 'get_by_flavor_id', self._flavor))
        self.images = {}
        self.useFixture(fixtures.MockPatchObject(
            middleware.glance.API, 'get', self._image))
        self.passed = []
        self.pipeline = middleware.filter_factory({})(self._nova)

    def _flavor(self, ctxt, flavor_id, read_deleted=None):
        self.assertIsInstance(ctxt, context.RequestContext)
        if flavor_id not in self.flavors:
            raise nova_exception.FlavorNotFound(flavor_id=flavor_id)
        return base.flavor(self.flavors[flavor_id], self.vcpus)

    def _image(self, ctxt, image_id):
        if image_id not in self.images:
            raise nova_exception.ImageNotFound(image_id=image_id)
        return {'properties': self.images[image_id]}

    @webob.dec.wsgify
    def _nova(self, request):
        self.passed.append(request.body)
        return webob.Response(status=202, text='from nova')

    def send(self, path, body, method='POST'):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        request = webob.Request.blank(path, method=method, body=body)
        request.content_type = 'application/json'
        request.environ['nova.context'] = context.RequestContext(
            'u', 'p', is_admin=False)
        return request.get_response(self.pipeline)

    def accepted(self, path, body, method='POST'):
        response = self.send(path, body, method)
        self.assertEqual((202, 'from nova'),
                         (response.status_int, response.text))
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.assertEqual(sent, self.passed.pop())

    def refused(self, words, path, body, method='POST'):
        """400, in Nova's form, with all *words*, and Nova never asked."""
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        response = self.send(path, body, method)
        self.assertIn('CPU reservation refused: ', log.output)
        self.assertEqual(400, response.status_int)
        self.assertEqual('application/json', response.content_type)
        self.assertEqual([], self.passed)
        (name, fault), = response.json.items()
        self.assertEqual(('badRequest', {'code', 'message'}, 400),
                         (name, set(fault), fault['code']))
        for word in words:
            self.assertIn(word, fault['message'])


def server(hints=None, flavor='1', key=HINTS):
    return {'server': {'name': 's', 'flavorRef': flavor}, key: hints or {}}


class PolicyTest(_Case):
    """The policy file of nova-api limits who may reserve by hint."""

    RULES = {'nova_rt:servers:create:hint': 'not user_id:u',
             'nova_rt:servers:create:hint:raise': 'role:vnf'}

    def setUp(self):
        folder = self.useFixture(fixtures.TempDir()).path
        path = os.path.join(folder, 'policy.json')
        with open(path, 'w') as target:
            json.dump(self.RULES, target)
        # Registers the options of oslo.policy, as the first enforcer does.
        opts.set_defaults(middleware.CONF)
        middleware.CONF.set_override('policy_file', path, 'oslo_policy')
        self.addCleanup(middleware.CONF.clear_override, 'policy_file',
                        'oslo_policy')
        super().setUp()
        self.config(hint_override='any', hints_on_plain_flavors=True)

    def forbidden(self, rule, body):
        response = self.send('/servers', body)
        self.assertEqual(403, response.status_int)
        self.assertEqual([], self.passed)
        self.assertEqual(f"Policy doesn't allow {rule} to be performed.",
                         response.json['forbidden']['message'])

    def test_who_may_not_reserve_by_hint(self):
        self.forbidden('nova_rt:servers:create:hint',
                       server({RUNTIME: 50_000}))
        self.accepted('/servers', server())
        self.accepted('/servers', server({'group': 'g'}))

    def test_a_bad_hint_is_a_bad_request(self):
        self.refused(['it must be a positive'], '/servers',
                     server({RUNTIME: 'abc'}))


class RaisePolicyTest(PolicyTest):

    RULES = {'nova_rt:servers:create:hint:raise': 'role:vnf'}

    def test_who_may_not_reserve_by_hint(self):
        """A tenant may lower the share of a flavor, but may not raise it."""
        self.accepted('/servers', server({RUNTIME: 100_000}))
        for hints, flavor in (({RUNTIME: 100_001}, '1'),
                              ({RUNTIME: 900, PERIOD: 9_000}, 'plain')):
            self.forbidden('nova_rt:servers:create:hint:raise',
                           server(hints, flavor))


class MaskTest(_Case):
    """The tests of how flavors get masks, and servers get flavors."""

    vcpus = 4
    PATH = '/flavors/1/os-extra_specs'
    BAD = (('^0-3', 'it leaves no vCPU with the reservation; give for'),
           ('0-3', 'it names every vCPU of the flavor (4); remove the key'),
           ('2,4', 'the flavor has no vCPU 4: its vCPUs are 0-3; name only'),
           ('one', 'it is not a list of vCPUs; give for example ^0'))

    def test_a_mask_with_a_reservation(self):
        mask = {'hw:cpu.rt_mask': '^0'}
        self.accepted(self.PATH, {'extra_specs': mask})
        self.accepted('/flavors/plain/os-extra_specs',
                      {'extra_specs': SPECS | mask})
        self.flavors['1'] = SPECS | mask
        self.accepted('/servers', server())

    def test_the_mask_may_come_first(self):
        self.accepted('/flavors/plain/os-extra_specs',
                      {'extra_specs': {'hw:cpu.rt_mask': '1-3'}})

    def test_a_bad_mask(self):
        for mask, rule in self.BAD:
            words = f'flavor extra spec hw:cpu.rt_mask={mask!r}: {rule}'
            for name in ('1', 'plain'):
                self.refused([words], f'/flavors/{name}/os-extra_specs',
                             {'extra_specs': {'hw:cpu.rt_mask': mask}})
            self.refused([words], f'{self.PATH}/hw:cpu.rt_mask',
                         {'hw:cpu.rt_mask': mask}, 'PUT')
            self.flavors['masked'] = SPECS | {'hw:cpu.rt_mask': mask}
            self.refused([words], '/servers', server(flavor='masked'))

    def test_a_mask_without_a_reservation(self):
        self.config(hints_on_plain_flavors=True)
        self.flavors['masked'] = {'hw:cpu.rt_mask': '^0'}
        self.refused(["hw:cpu.rt_mask='^0': the flavor and the hints ask"],
                     '/servers', server(flavor='masked'))
        self.accepted('/servers', server(
            {RUNTIME: 1000, PERIOD: 10_000}, 'masked'))

    def test_a_mask_is_no_hint(self):
        self.refused(['there is no such hint; use cpu.rt_runtime_us or '],
                     '/servers', server({'cpu.rt_mask': '^0'}))

    def test_novas_own_real_time_beside_it(self):
        self.refused(['hw:cpu_realtime'], self.PATH, {'extra_specs': {
            'hw:cpu.rt_mask': '^0', 'hw:cpu_realtime': 'yes'}})


class ServerTest(_Case):

    def test_reservation_of_the_flavor(self):
        self.accepted('/servers', server())

    def test_no_reservation(self):
        self.accepted('/servers', server({'group': uuids.group}, 'plain'))

    def test_bad_hints(self):
        for value in ('abc', -1, '-1', 0, '0', True, [], ['1', '2'], None,
                      {}, 1.5):
            for key in (RUNTIME, PERIOD):
                self.refused(
                    [f'scheduler hint {key}={value!r}: ', 'positive whole'],
                    '/servers', server({key: value}))

    def test_the_sentence(self):
        response = self.send('/servers', server({RUNTIME: 'abc'}))
        self.assertEqual(
            "Invalid scheduler hint cpu.rt_runtime_us='abc': it must be a "
            "positive whole number of microseconds; give for example 100000 "
            "for 100 ms.", response.json['badRequest']['message'])

    def test_runtime_above_period(self):
        self.config(hint_override='any')
        self.refused([f'{RUNTIME}=200001', 'period of 200000'], '/servers',
                     server({RUNTIME: 200_001}))

    def test_unknown_key(self):
        self.refused(['cpu.rt_budget=5', 'no such hint'], '/servers',
                     server({'cpu.rt_budget': 5}))

    def test_no_period_anywhere(self):
        self.config(hints_on_plain_flavors=True)
        self.refused([f'{RUNTIME}=5000', f'gives {PERIOD}'], '/servers',
                     server({RUNTIME: 5000}, 'plain'))

    def test_period_of_the_flavor_goes_with_the_runtime_of_a_hint(self):
        self.accepted('/servers', server({RUNTIME: '50000'}))

    def test_both_spellings_of_hints(self):
        for key in (HINTS, 'OS-SCH-HNT:scheduler_hints'):
            self.refused([f"{RUNTIME}='x'"], '/servers',
                         server({RUNTIME: 'x'}, key=key))

    def test_all_forms_of_flavor_ref(self):
        self.config(hint_override='any')
        for ref in ('1', 1, uuids.flavor, f'http://c/flavors/{uuids.flavor}',
                    'http://cloud/v2.1/p/flavors/1'):
            self.refused([RUNTIME, 'period of 200000'], '/servers',
                         server({RUNTIME: 200_001}, ref))

    def test_flavor_that_nova_refuses(self):
        hints = {RUNTIME: 1000, PERIOD: 2000}
        for ref in ('gone', None, [], {}, ''):
            self.accepted('/servers', server(hints, ref))

    def test_bodies_that_nova_refuses(self):
        for body in (b'', b'{', b'\xff', b'[1]', b'"x"', b'null', {},
                     {'server': []}, {'server': {'flavorRef': 'plain'},
                                      HINTS: [1]}):
            self.accepted('/servers', body)

    def test_paths_that_create_servers(self):
        for path in ('/servers', '/servers/', '/p/servers', '/p/servers/'):
            self.refused([RUNTIME], path, server({RUNTIME: 'x'}))

    def test_other_requests_are_left_alone(self):
        bad = server({RUNTIME: 'x'})
        for path in ('/servers/detail', '/servers/1', '/p/servers/1/action',
                     '/p/servers/detail', '/', '/flavors', '/p/x/servers'):
            self.accepted(path, bad)
        self.accepted('/servers', bad, method='PUT')

    def test_get_passes(self):
        self.accepted('/servers', b'', method='GET')

    def test_hints_may_only_lower(self):
        self.config(hint_override='lower')
        self.refused([f'{RUNTIME}=150000', '0.750', '0.500'], '/servers',
                     server({RUNTIME: 150_000}))
        self.accepted('/servers', server({RUNTIME: 50_000}))

    def test_a_plain_flavor(self):
        hints = {RUNTIME: 1000, PERIOD: 2000}
        self.refused(['counts only on a flavor'], '/servers',
                     server(hints, 'plain'))
        self.flavors['plain'] = {'hw:cpu.rt_hint_max_share': '0.5'}
        self.accepted('/servers', server(hints, 'plain'))
        self.flavors['plain'] = {}
        self.config(hints_on_plain_flavors=True)
        self.accepted('/servers', server(hints, 'plain'))

    def test_an_image(self):
        self.images = {'pinned': {'hw_cpu_policy': 'dedicated'}, 'plain': {}}
        body = server()
        body['server']['imageRef'] = 'pinned'
        self.refused(["image property hw_cpu_policy='dedicated'"],
                     '/servers', body)
        for ref in ('plain', 'gone', '', None, 5):
            body['server']['imageRef'] = ref
            self.accepted('/servers', body)

    def test_the_image_of_an_ordinary_server(self):
        self.images = {'pinned': {'hw_cpu_policy': 'dedicated'}}
        body = server(flavor='plain')
        body['server']['imageRef'] = 'pinned'
        self.accepted('/servers', body)

    def test_hints_switched_off(self):
        self.config(hint_override='none')
        self.refused([f'{RUNTIME}=50000', 'does not accept'], '/servers',
                     server({RUNTIME: 50_000}))
        self.accepted('/servers', server({'group': uuids.group}))

    def test_maximum_share(self):
        self.config(max_share=0.4)
        self.refused([f'{RUNTIME}=100000', '0.500', '0.400'], '/servers',
                     server())
        self.accepted('/servers', server({RUNTIME: 80_000}))

    def test_conflicts(self):
        for key, value in (('hw:cpu_policy', 'dedicated'),
                           ('hw:pmem', '6GB'),
                           ('hw:cpu_realtime', 'yes')):
            self.flavors['1'] = SPECS | {key: value}
            self.refused([f'{key}={value!r}'], '/servers', server())
            self.flavors['1'] = {key: value}
            self.accepted('/servers', server())


class WorkloadTest(_Case):
    """Types and classes, which are no reservation."""

    def test_good(self):
        hints = {'cpu.vnf_type': 'dpi', 'cpu.app_class': 'io'}
        self.accepted('/servers', server(hints, 'plain'))
        self.accepted('/servers', server(hints, 'nowhere'))

    def test_bad_hints(self):
        for hints, words in (
                ({'cpu.app_class': 'ultra'},
                 ["cpu.app_class='ultra': ", 'the nearest is ultra-io.']),
                ({'cpu.vnf_type': 'a box'},
                 ["cpu.vnf_type='a box': ", 'give for example a-box.'])):
            for flavor in ('plain', 'nowhere', '1'):
                self.refused(words, '/servers', server(hints, flavor))

    def test_bad_flavor(self):
        self.refused(
            ["hw:cpu.app_class='disk': ", 'the nearest is io.'],
            '/flavors/plain/os-extra_specs',
            {'extra_specs': {'hw:cpu.app_class': 'disk'}})
        self.refused(
            ["hw:cpu.vnf_type='': "],
            '/flavors/plain/os-extra_specs/hw:cpu.vnf_type',
            {'hw:cpu.vnf_type': ''}, 'PUT')


class _ActionCase(_Case):

    def setUp(self):
        super().setUp()
        self.server = base.instance(SPECS)
        self.useFixture(fixtures.MockPatchObject(
            middleware.servers, 'find', self._find))

    def _find(self, ctxt, uuid):
        self.assertFalse(ctxt.is_admin)
        return self.server if uuid == 'mine' else None

    def hint(self, **hints):
        request.note_hints(self.server, base.hints(**hints))


class ResizeTest(_ActionCase):

    def resize(self, flavor, server='mine'):
        return f'/v/servers/{server}/action', {
            'resize': {'flavorRef': flavor}}

    def test_without_hints(self):
        for flavor in self.flavors:
            self.accepted(*self.resize(flavor))

    def test_the_hint_asks_for_more_than_the_new_flavor_has(self):
        self.hint(runtime=90_000)
        self.flavors['small'] = base.extra_specs(50_000, 200_000)
        self.refused(['cpu.rt_runtime_us=90000',
                      'above the share of 0.250000 of'],
                     *self.resize('small'))

    def test_no_hint_goes_to_a_plain_flavor(self):
        self.hint(runtime=90_000)
        self.accepted(*self.resize('plain'))

    def test_limits_and_conflicts_of_the_new_flavor(self):
        self.flavors['pinned'] = SPECS | {'hw:cpu_policy': 'dedicated'}
        self.refused(['hw:cpu_policy'], *self.resize('pinned'))
        self.flavors['large'] = base.extra_specs(96_000, 100_000)
        self.refused(['0.960000'], *self.resize('large'))

    def test_the_image(self):
        self.server.system_metadata['image_hw_cpu_policy'] = 'dedicated'
        self.refused(['hw_cpu_policy'], *self.resize('1'))

    def test_what_is_for_nova(self):
        self.hint(runtime=90_000)
        self.flavors['small'] = base.extra_specs(50_000, 200_000)
        self.accepted(*self.resize('gone'))
        self.accepted(*self.resize('small', 'of-another'))
        path, _body = self.resize('small')
        for body in ({}, {'resize': None}, {'reboot': {'type': 'HARD'}}):
            self.accepted(path, body)

    def test_a_damaged_note_is_not_shown(self):
        self.server.system_metadata[request.HINTS_KEY] = '{'
        self.accepted(*self.resize('1'))


class RebuildTest(_ActionCase):

    def setUp(self):
        super().setUp()
        self.images = {'plain': {}, 'pinned': {'hw_cpu_policy': 'dedicated'},
                       'bad': {'hw_cpu_policy': 'none such'}}

    def rebuild(self, image, server='mine'):
        return f'/v/servers/{server}/action', {'rebuild': {'imageRef': image}}

    def test_the_new_image(self):
        self.refused(["image property hw_cpu_policy='dedicated'"],
                     *self.rebuild('pinned'))
        self.accepted(*self.rebuild('plain'))

    def test_a_hint_is_enough(self):
        self.server.flavor.extra_specs = {}
        self.accepted(*self.rebuild('pinned'))
        self.hint(runtime=1000, period=2000)
        self.refused(["hw_cpu_policy='dedicated'"], *self.rebuild('pinned'))

    def test_what_is_for_nova_to_refuse(self):
        for image in ('gone', '', None, 5, 'bad'):
            self.accepted(*self.rebuild(image))
        self.accepted(*self.rebuild('pinned', 'of-another'))

    def test_a_flavor_that_was_admitted_by_older_rules(self):
        self.server.flavor.extra_specs = SPECS | {'hw:cpu_policy': 'dedicated'}
        self.accepted(*self.rebuild('plain'))
        self.refused(["hw_cpu_policy='dedicated'"], *self.rebuild('pinned'))


class ExtraSpecsTest(_Case):

    def test_pair(self):
        for path in ('/flavors/plain/os-extra_specs',
                     '/p/flavors/plain/os-extra_specs/'):
            self.accepted(path, {'extra_specs': SPECS})
            self.refused(['hw:cpu.rt_runtime_us', 'period of 5000'], path,
                         {'extra_specs': base.extra_specs(5001, 5000)})

    def test_one_first_then_the_other(self):
        self.accepted('/flavors/plain/os-extra_specs',
                      {'extra_specs': {'hw:' + RUNTIME: '5000'}})
        self.flavors['plain'] = {'hw:' + RUNTIME: '5000'}
        path = f'/flavors/plain/os-extra_specs/hw:{PERIOD}'
        self.refused(['period of 4000'], path, {'hw:' + PERIOD: '4000'},
                     'PUT')
        self.accepted(path, {'hw:' + PERIOD: '5400'}, 'PUT')

    def test_new_value_replaces_the_old(self):
        self.accepted(f'/p/flavors/1/os-extra_specs/hw:{RUNTIME}',
                      {'hw:' + RUNTIME: '50000'}, 'PUT')
        self.refused([f'hw:{RUNTIME}=200001', 'period of 200000'],
                     f'/p/flavors/1/os-extra_specs/hw:{RUNTIME}',
                     {'hw:' + RUNTIME: '200001'}, 'PUT')

    def test_bad_value(self):
        self.refused(["hw:cpu.rt_runtime_us='1_0'"],
                     '/flavors/plain/os-extra_specs',
                     {'extra_specs': {'hw:' + RUNTIME: '1_0'}})

    def test_conflict(self):
        self.refused(["hw:cpu_policy='dedicated'"],
                     '/flavors/plain/os-extra_specs',
                     {'extra_specs': SPECS | {'hw:cpu_policy': 'dedicated'}})

    def test_a_value_that_is_no_text(self):
        for value in (None, 1, {}, ['x']):
            self.accepted('/flavors/1/os-extra_specs',
                          {'extra_specs': {'hw:watchdog_action': value}})

    def test_conflict_that_comes_later(self):
        for key, value in (('hw:cpu_policy', 'dedicated'),
                           ('hw:cpu_realtime', 'yes'),
                           ('resources:PCPU', '2')):
            self.refused([f'{key}={value!r}'],
                         f'/flavors/1/os-extra_specs/{key}', {key: value},
                         'PUT')
            self.accepted(f'/flavors/plain/os-extra_specs/{key}',
                          {key: value}, 'PUT')

    def test_hints_do_not_matter(self):
        self.config(hint_override='none')
        self.accepted('/flavors/plain/os-extra_specs', {'extra_specs': SPECS})

    def test_other_keys_and_unknown_flavors(self):
        self.accepted('/flavors/1/os-extra_specs',
                      {'extra_specs': {'hw:cpu_threads': 'x'}})
        self.accepted('/flavors/gone/os-extra_specs', {'extra_specs': SPECS})

    def test_nonsense_is_for_nova(self):
        for body in (b'{', b'[]', {}, {'extra_specs': 5}):
            self.accepted('/flavors/1/os-extra_specs', body)
            self.accepted('/flavors/1/os-extra_specs/x', body, 'PUT')


class LikeNovaTest(_Case):
    """Reads a request as Nova does, and leaves to Nova what is Nova's."""

    def test_one_spelling_of_hints_counts(self):
        body = server({RUNTIME: 'abc'}) | {
            'OS-SCH-HNT:scheduler_hints': {RUNTIME: '1000'}}
        self.refused([f"{RUNTIME}='abc'"], '/servers', body)

    def test_the_other_spelling_is_ignored(self):
        self.accepted('/servers', server({}) | {
            'OS-SCH-HNT:scheduler_hints': {RUNTIME: 'abc'}})

    def test_flavor_link_with_a_query(self):
        self.accepted('/servers', server({RUNTIME: 50_000},
                                         'http://c/flavors/1?q=4'))

    def test_unknown_flavor_with_half_a_hint(self):
        self.accepted('/servers', server({RUNTIME: 5000}, 'gone'))

    def test_unknown_flavor_with_lower(self):
        self.config(hint_override='lower')
        self.accepted('/servers', server({RUNTIME: 5000, PERIOD: 10000},
                                         'gone'))

    def test_volumes_boot(self):
        self.refused([RUNTIME], '/os-volumes_boot', server({RUNTIME: 'abc'}))

    def test_bad_utf8_in_the_path(self):
        self.assertEqual(202, self.send('/servers%ff', b'{}').status_int)

    def test_deep_json(self):
        self.accepted('/servers', b'{"server":' + b'[' * 50000
                      + b']' * 50000 + b'}')

    def test_key_cannot_forge_a_log_line(self):
        answer = self.send('/servers', server({'cpu.rt_x\nINFO forged': 1}))
        self.assertNotIn('\n', answer.json['badRequest']['message'])

    def test_long_key_is_cut(self):
        answer = self.send('/servers', server({'cpu.rt_' + 'x' * 50000: 1}))
        self.assertLess(len(answer.json['badRequest']['message']), 500)
