# SPDX-License-Identifier: Apache-2.0

"""Tests reservations put into the base HOT of a package."""

import contextlib
import copy
import datetime

import hypothesis
from hypothesis import strategies
from oslotest import base

from nova_rt.rules import labels
from tacker_rt import exception
from tacker_rt.heat import syntax
from tacker_rt.userdata import inject
from tacker_rt.vnfd import descriptor

HINTS = {'cpu.rt_runtime_us': 60000, 'cpu.rt_period_us': 100000}
SIZE = {'vcpus': 1, 'ram': 64, 'disk': 1}
PARAMETER = ['nfv', 'VDU', 'VDU1', 'computeFlavourId']


def vdu(hints=None, carrier='hints', name='VDU1', flavor=None):
    return {name: descriptor.Vdu(name, HINTS if hints is None else hints,
                                 descriptor.Source.POLICY, flavor, {},
                                 descriptor.Carrier(carrier))}


def size(name):
    return SIZE


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


class BrokenTest(base.BaseTestCase):

    def refused(self, hot):
        vdus = vdu()
        for function in (inject.open_guard,
                         lambda one: inject.hints(one, vdus),
                         lambda one: inject.flavors(one, vdus, size),
                         lambda one: inject.metadata(one, 'v'),
                         inject.as_patch):
            with contextlib.suppress(exception.InvalidVnfd):
                function(copy.deepcopy(hot))
        return str(self.assertRaises(
            exception.InvalidVnfd, inject.hints, hot, vdus))

    def test_no_mappings(self):
        """A template that nobody has validated."""
        advice = ('the value must be a mapping; indent the keys of the '
                  'mapping below its name.')
        for key, hot in (
                ('resources=True', {'resources': True}),
                ("resources=['x']", {'resources': ['x']}),
                ('properties=True', template(VDU1={
                    'type': 'OS::Nova::Server', 'properties': True}))):
            self.assertEqual(f'BaseHOT: {key}: {advice}', self.refused(hot))
        for hot in ([], 'text', 3):
            self.assertIn('the value must be a mapping', self.refused(hot))

    def test_a_type_that_is_none(self):
        hot = template(VDU1={'type': []}, VDU2={'type': {}}, VDU3=True)
        before = copy.deepcopy(hot)
        self.assertEqual(set(), inject.hints(hot, vdu()))
        self.assertEqual(before, hot)


class GuardTest(base.BaseTestCase):

    def test_it_is_removed(self):
        hot = template(VDU1=server(), tacker_rt=dict(syntax.GUARDED))
        inject.open_guard(hot)
        self.assertEqual(template(VDU1=server()), hot)

    def test_a_server_of_this_name(self):
        hot = template(tacker_rt=server())
        inject.open_guard(hot)
        self.assertEqual(template(tacker_rt=server()), hot)
        inject.open_guard({})


class MetadataTest(base.BaseTestCase):
    KEY = labels.VNF_KEY

    def metadata_of(self, before, **more):
        hot = {**template(VDU1=server(metadata=before),
                          port={'type': 'OS::Neutron::Port'}), **more}
        inject.metadata(hot, 'v')
        self.assertEqual({'type': 'OS::Neutron::Port'},
                         hot['resources']['port'])
        return hot['resources']['VDU1']['properties']['metadata']

    def test_beside_others(self):
        self.assertEqual({self.KEY: 'v'}, self.metadata_of(None))
        self.assertEqual({'a': 'b', self.KEY: 'v'},
                         self.metadata_of({'a': 'b', self.KEY: 'old'}))

    def test_a_function(self):
        function = {'get_param': 'metadata'}
        self.assertEqual(
            {'map_merge': [function, {self.KEY: 'v'}]}, self.metadata_of(
                function, heat_template_version='2016-10-14'))
        # The operation does not fail because of this.
        self.assertEqual(function, self.metadata_of(
            function, heat_template_version='2013-05-23'))
        self.assertEqual('nonsense', self.metadata_of('nonsense'))


class HintsTest(base.BaseTestCase):
    def test_server_with_the_name_of_the_vdu(self):
        hot = template(VDU1=server(image='i'), other=server())
        self.assertEqual({'VDU1'}, inject.hints(hot, vdu()))
        self.assertEqual(
            template(VDU1=server(image='i', scheduler_hints=HINTS),
                     other=server()), hot)

    def test_numbered_servers(self):
        hot = template(**{'VDU1-0': server(), 'VDU1-12': server(),
                          'VDU1-x': server()})
        self.assertEqual(set(), inject.hints(copy.deepcopy(hot), vdu()))
        self.assertEqual({'VDU1'}, inject.hints(hot, vdu(), numbered=True))
        self.assertEqual(
            [True, True, False],
            ['scheduler_hints' in one['properties']
             for one in hot['resources'].values()])

    def test_a_vdu_with_a_number_in_its_name(self):
        """Numbered, a-1 is the second server of a, and a-1-0 is of a-1."""
        vdus = {**vdu(name='a'), **vdu({}, name='a-1')}
        hot = template(**{'a-1': server()})
        inject.hints(hot, vdus)
        self.assertEqual(template(**{'a-1': server()}), hot)
        hot = template(**{'a-1': server(), 'a-1-0': server()})
        self.assertEqual({'a', 'a-1'}, inject.hints(hot, vdus, True))
        self.assertEqual(template(**{
            'a-1': server(scheduler_hints=HINTS), 'a-1-0': server()}), hot)

    def test_a_vdu_whose_name_goes_on(self):
        vdus = {**vdu(name='db'), **vdu({}, name='db-replica')}
        for numbered in (False, True):
            hot = template(**{'db-replica': server()})
            inject.hints(hot, vdus, numbered)
            self.assertEqual(template(**{'db-replica': server()}), hot)

    def test_servers_of_a_scaling_group(self):
        hot = template(VDU1={
            'type': 'OS::Heat::AutoScalingGroup',
            'properties': {'resource': server()}})
        self.assertEqual({'VDU1'}, inject.hints(hot, vdu()))
        self.assertEqual(
            server(scheduler_hints=HINTS),
            hot['resources']['VDU1']['properties']['resource'])

    def test_other_hints_stay_and_ours_win(self):
        group = {'get_resource': 'g'}
        hot = template(VDU1=server(scheduler_hints={
            'group': group, 'cpu.rt_runtime_us': 1}))
        inject.hints(hot, vdu())
        self.assertEqual({'group': group, **HINTS}, hot['resources']['VDU1'][
            'properties']['scheduler_hints'])

    def test_servers_of_a_resource_group(self):
        hot = template(VDU1={
            'type': 'OS::Heat::ResourceGroup',
            'properties': {'resource_def': server()}})
        self.assertEqual({'VDU1'}, inject.hints(hot, vdu()))
        self.assertEqual(
            server(scheduler_hints=HINTS),
            hot['resources']['VDU1']['properties']['resource_def'])

    def test_what_is_no_server(self):
        for odd in ({'type': 'OS::Heat::AutoScalingGroup'}, 'text', [], {},
                    {'type': 'OS::Heat::AutoScalingGroup',
                     'properties': {'resource': None}}):
            self.assertEqual(set(), inject.hints(template(VDU1=odd), vdu()))

    def test_hints_that_are_a_function(self):
        """map_merge keeps what the function gives."""
        for function in ({'get_param': 'hints'},
                         {'if': ['c', {'group': 'g'}, {}]},
                         {'map_merge': [{'group': 'g'}]}):
            hot = {'heat_template_version': 'wallaby',
                   **template(VDU1=server(scheduler_hints=function))}
            inject.hints(hot, vdu())
            self.assertEqual(
                {'map_merge': [function, HINTS]},
                hot['resources']['VDU1']['properties']['scheduler_hints'])

    def refused(self, text, hot, function=None):
        error = self.assertRaises(exception.InvalidVnfd,
                                  function or (
                                      lambda hot: inject.hints(hot, vdu())),
                                  hot)
        self.assertEqual(text, str(error))

    def test_hints_that_cannot_be_added_to(self):
        hints = server(scheduler_hints={'get_param': 'hints'})
        for version in ('2013-05-23', datetime.date(2015, 10, 15), None):
            self.refused(
                'BaseHOT: VDU VDU1: scheduler_hints is a function, but '
                'templates of this version have no map_merge; write '
                'heat_template_version: 2016-10-14 or newer.',
                {'heat_template_version': version or '2013-05-23',
                 **template(VDU1=copy.deepcopy(hints))})
        self.refused(
            'BaseHOT: VDU VDU1: scheduler_hints must be a mapping; write '
            'each hint as a key with a value.',
            template(VDU1=server(scheduler_hints=['a'])))

    def test_a_function_in_a_patch(self):
        """Earlier hints would remain in addition to the function."""
        self.refused(
            'BaseHOT: VDU1: scheduler_hints is a function, and a change of '
            'the package cannot replace other hints by a function; write '
            'each hint as a key with a value, or use a nested template.',
            template(VDU1=server(scheduler_hints={'get_param': 'h'})),
            inject.as_patch)

    def test_nothing_to_do(self):
        for vdus in (vdu({}), vdu(carrier='flavor'), {}):
            hot = template(VDU1=server(), gone=None)
            inject.hints(hot, vdus)
            inject.hints({}, vdus)
            self.assertEqual(template(VDU1=server(), gone=None), hot)


class FlavorsTest(base.BaseTestCase):
    def hot(self):
        return template(VDU1={'type': 'VDU1.yaml', 'properties': {
            'flavor': {'get_param': list(PARAMETER)}}})

    def test_made(self):
        hot = self.hot()
        inject.flavors(hot, vdu(carrier='flavor'), size)
        self.assertEqual(
            {'get_resource': 'VDU1_rt_60000_100000'},
            hot['resources']['VDU1']['properties']['flavor'])
        self.assertEqual(
            {'type': 'OS::Nova::Flavor', 'properties': {
                **SIZE, 'extra_specs': {
                    f'hw:{key}': value for key, value in HINTS.items()}}},
            hot['resources']['VDU1_rt_60000_100000'])

    def test_another_reservation_is_another_flavor(self):
        names = set()
        for runtime in (1000, 2000):
            hot = self.hot()
            inject.flavors(hot, vdu({**HINTS, 'cpu.rt_runtime_us': runtime},
                                    'both'), size)
            names |= set(hot['resources'])
        self.assertEqual(3, len(names))

    def test_only_for_the_vdu_itself(self):
        """db-replica is not a numbered server of db."""
        vdus = {**vdu(name='db', carrier='flavor'),
                **vdu({}, name='db-replica')}
        for numbered, names in ((False, ('db', 'db-replica', 'db-0')),
                                (True, ('db-0', 'db-replica-0', 'db-x'))):
            hot = template(**{name: {
                'type': 'x.yaml', 'properties': {'flavor': {'get_param': [
                    'nfv', 'VDU', name, 'computeFlavourId']}}}
                for name in names})
            self.assertEqual({'db'}, inject.flavors(hot, vdus, size,
                                                    numbered))
            self.assertEqual(
                [True, False, False],
                ['get_resource' in hot['resources'][name]['properties'][
                    'flavor'] for name in names])

    def test_functions_in_the_path(self):
        path = ['nfv', 'VDU', {'get_param': 'x'}, 'computeFlavourId']
        hot = template(VDU1={'type': 'x', 'properties': {
            'flavor': {'get_param': path}}})
        before = copy.deepcopy(hot)
        self.assertEqual(set(), inject.flavors(hot, vdu(carrier='flavor'),
                                               size))
        self.assertEqual(before, hot)

    def test_sizes_that_nobody_needs_are_not_asked_for(self):
        def fail(name):
            raise AssertionError

        for vdus in (vdu(), vdu({}, 'flavor')):
            inject.flavors(self.hot(), vdus, fail)

    def test_not_made(self):
        for vdus in (vdu(), vdu({}, 'flavor')):
            hot = self.hot()
            inject.flavors(hot, vdus, size)
            self.assertEqual(self.hot(), hot)


class CheckTest(base.BaseTestCase):
    def refused(self, text, vdus, served, made=()):
        error = self.assertRaises(exception.InvalidVnfd, inject.check, vdus,
                                  set(served), set(made))
        self.assertEqual(text, str(error))

    def test_no_server(self):
        self.refused('BaseHOT: VDU VDU1: the base HOT has no '
                     'OS::Nova::Server of this name; give the server the '
                     'name of the VDU.',
                     vdu(), ())

    def test_flavor_is_no_parameter(self):
        """The parameter of another VDU with a longer name does not count."""
        self.refused(
            'BaseHOT: VDU VDU1: the base HOT does not take the flavor of the '
            'VDU from [nfv, VDU, VDU1, computeFlavourId]; take the flavor '
            'from this parameter, or use the carrier '
            'hints.', vdu(carrier='both'), {'VDU1'}, {'VDU1_rt_x'})

    def test_an_input_without_a_value(self):
        self.refused(
            'BaseHOT: VDU VDU1: the input rt of its reservation has no '
            'value; give the input a default, or ask for the reservation in '
            'the request.',
            vdu({**HINTS, 'cpu.rt_runtime_us': descriptor.Input('rt')}),
            {'VDU1'})

    def test_all_found(self):
        inject.check(vdu({}), set(), set())
        inject.check(vdu(), {'VDU1'}, set())
        inject.check(vdu(carrier='both'), {'VDU1'}, {'VDU1'})


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
        inject.hints(hot, vdus)
        inject.flavors(hot, vdus, size)
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
