# SPDX-License-Identifier: Apache-2.0

"""What is tested here: reservations put into the base HOT of a package."""

import copy

import hypothesis
from hypothesis import strategies
from oslotest import base

from tacker_rt import exception
from tacker_rt.userdata import inject
from tacker_rt import vnfd

HINTS = {'cpu.rt_runtime_us': 60000, 'cpu.rt_period_us': 100000}
SIZES = {'VDU1': {'vcpus': 1, 'ram': 64, 'disk': 1}}
PARAMETER = ['nfv', 'VDU', 'VDU1', 'computeFlavourId']


def vdu(hints=None, carrier='hints', name='VDU1', flavor=None):
    return {name: vnfd.Vdu(name, HINTS if hints is None else hints,
                           vnfd.Source.POLICY, flavor, {},
                           vnfd.Carrier(carrier))}


def server(**properties):
    return {'type': 'OS::Nova::Server', 'properties': properties}


def template(**resources):
    return {'resources': resources}


def merged(target, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        result[key] = merged(result.get(key), value)
        if value is None:
            del result[key]
    return result


class HintsTest(base.BaseTestCase):
    def test_server_with_the_name_of_the_vdu(self):
        hot = template(VDU1=server(image='i'), other=server())
        self.assertEqual({'VDU1'}, inject.hints([hot], vdu()))
        self.assertEqual(
            template(VDU1=server(image='i', scheduler_hints=HINTS),
                     other=server()), hot)

    def test_numbered_servers(self):
        hot = template(**{'VDU1-0': server(), 'VDU1-12': server(),
                          'VDU1-x': server()})
        inject.hints([hot], vdu())
        self.assertEqual(
            [True, True, False],
            ['scheduler_hints' in one['properties']
             for one in hot['resources'].values()])

    def test_a_vdu_with_a_number_in_its_name(self):
        vdus = {**vdu(name='a'), **vdu({}, name='a-1')}
        hot = template(**{'a-1': server()})
        inject.hints([hot], vdus)
        self.assertEqual(template(**{'a-1': server()}), hot)

    def test_servers_of_a_scaling_group(self):
        hot = template(VDU1={
            'type': 'OS::Heat::AutoScalingGroup',
            'properties': {'resource': server()}})
        self.assertEqual({'VDU1'}, inject.hints([hot], vdu()))
        self.assertEqual(
            server(scheduler_hints=HINTS),
            hot['resources']['VDU1']['properties']['resource'])

    def test_other_hints_stay_and_ours_win(self):
        group = {'get_resource': 'g'}
        hot = template(VDU1=server(scheduler_hints={
            'group': group, 'cpu.rt_runtime_us': 1}))
        inject.hints([hot], vdu())
        self.assertEqual({'group': group, **HINTS}, hot['resources']['VDU1'][
            'properties']['scheduler_hints'])

    def test_nothing_to_do(self):
        for vdus in (vdu({}), vdu(carrier='flavor'), {}):
            hot = template(VDU1=server(), gone=None)
            inject.hints([hot, {}], vdus)
            self.assertEqual(template(VDU1=server(), gone=None), hot)


class FlavorsTest(base.BaseTestCase):
    def hot(self):
        return template(VDU1={'type': 'VDU1.yaml', 'properties': {
            'flavor': {'get_param': list(PARAMETER)}}})

    def test_made(self):
        hot = self.hot()
        inject.flavors(hot, vdu(carrier='flavor'), SIZES)
        self.assertEqual(
            {'get_resource': 'VDU1_rt_60000_100000'},
            hot['resources']['VDU1']['properties']['flavor'])
        self.assertEqual(
            {'type': 'OS::Nova::Flavor', 'properties': {
                **SIZES['VDU1'], 'extra_specs': {
                    f'hw:{key}': value for key, value in HINTS.items()}}},
            hot['resources']['VDU1_rt_60000_100000'])

    def test_another_reservation_is_another_flavor(self):
        names = set()
        for runtime in (1000, 2000):
            hot = self.hot()
            inject.flavors(hot, vdu({**HINTS, 'cpu.rt_runtime_us': runtime},
                                    'both'), SIZES)
            names |= set(hot['resources'])
        self.assertEqual(3, len(names))

    def test_not_made(self):
        for vdus in (vdu(), vdu({}, 'flavor')):
            hot = self.hot()
            inject.flavors(hot, vdus, SIZES)
            self.assertEqual(self.hot(), hot)


class CheckTest(base.BaseTestCase):
    def refused(self, text, hot, vdus, served):
        error = self.assertRaises(exception.InvalidVnfd, inject.check, hot,
                                  vdus, served)
        self.assertEqual(text, str(error))

    def test_no_server(self):
        self.refused('BaseHOT: VDU VDU1: the base HOT has no '
                     'OS::Nova::Server of this name; name it as the VDU.',
                     template(), vdu(), set())

    def test_flavor_is_no_parameter(self):
        self.refused(
            'BaseHOT: VDU VDU1: the base HOT does not take its flavor from '
            '[nfv, VDU, VDU1, computeFlavourId]; let it, or use the carrier '
            'hints.', template(), vdu(carrier='both'), {'VDU1'})

    def test_all_found(self):
        inject.check(template(), vdu({}), set())
        inject.check(template(), vdu(), {'VDU1'})


_RESERVED = strategies.sampled_from((
    vdu({}), vdu(), vdu({**HINTS, 'cpu.rt_runtime_us': 1}),
    vdu(carrier='flavor'), vdu(carrier='both'),
    vdu({'cpu.rt_runtime_us': 5}, flavor='f')))
_OTHERS = strategies.sampled_from((None, {'group': 'g'}))


class PatchTest(base.BaseTestCase):

    def reserved(self, vdus, others):
        hot = template(VDU1=server(flavor={'get_param': list(PARAMETER)}))
        if others:
            hot['resources']['VDU1']['properties'][
                'scheduler_hints'] = dict(others)
        inject.hints([hot], vdus)
        inject.flavors(hot, vdus, SIZES)
        return hot

    @hypothesis.given(_RESERVED, _OTHERS, _RESERVED, _OTHERS)
    @hypothesis.settings(deadline=None, database=None)
    def test_server_is_that_of_the_new_package(
            self, old, old_hints, new, new_hints):
        before = self.reserved(old, old_hints)
        after = self.reserved(new, new_hints)
        patch = copy.deepcopy(after)
        inject.as_patch(patch)
        got = merged(before, patch)['resources']
        expected = after['resources']['VDU1']['properties']
        properties = got['VDU1']['properties']
        self.assertEqual(expected['flavor'], properties['flavor'])
        hints = dict(properties.get('scheduler_hints', {}))
        if old_hints and new_hints != old_hints and hints:
            # A hint of others may stay, as with Tacker.
            hints.pop('group', None)
        self.assertEqual(expected.get('scheduler_hints', {}), hints)
