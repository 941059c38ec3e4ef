# SPDX-License-Identifier: Apache-2.0

"""Tests user data classes, called as Tacker calls them.

Whole lives of packages are in tests/functional/tacker.
"""

import logging
import pathlib
import zipfile

import fixtures
from oslotest import base
from tacker.extensions import vnfm
from tacker import objects
import yaml

from tacker_rt.package import pack
from tacker_rt.userdata import v1
from tacker_rt.userdata import v2
from tests.unit.tacker_rt import samples

HINTS = {'cpu.rt_runtime_us': 60000, 'cpu.rt_period_us': 100000}
#: Of a request that has a flavor made.
_MADE = {'VDU': {'VDU1': {'cpu.rt_carrier': 'flavor'}}}


class V1Test(base.BaseTestCase):

    def instantiate(self, asked):
        objects.register_all()
        package = samples.SAMPLES / 'v1-userdata' / 'package'
        template, vnfd = (
            yaml.safe_load((package / name).read_text()) for name in (
                'BaseHOT/simple/hot.yaml', 'Definitions/vnfd.yaml'))
        return v1.RtUserData.instantiate(
            {'heat_template': template}, vnfd, objects.InstantiateVnfRequest(
                flavour_id='simple', ext_virtual_links=[],
                additional_params=asked), None)

    def test_parameters(self):
        self.assertEqual(
            {'nfv': {'VDU': {'VDU1': {'flavor': 'm1.lxc', 'image': None,
                                      **HINTS}}, 'CP': {}}},
            self.instantiate(None))

    def test_what_the_request_asks_for(self):
        nfv = {'VDU': {'VDU1': {'cpu.rt_runtime_us': 70000, 'other': 1}}}
        self.assertEqual(
            {'flavor': 'm1.lxc', 'image': None, 'other': 1, **HINTS,
             'cpu.rt_runtime_us': 70000},
            self.instantiate({'nfv': nfv})['nfv']['VDU']['VDU1'])

    def test_a_wrong_reservation(self):
        """A SystemExit would end the conductor, so another error is raised."""
        nfv = {'VDU': {'VDU1': {'cpu.rt_period_us': 5}}}
        error = self.assertRaises(vnfm.LCMUserDataFailed, self.instantiate,
                                  {'nfv': nfv})
        self.assertIn('VDU VDU1: cpu.rt_runtime_us', str(error))


class V2Test(base.BaseTestCase):

    def unpacked(self, sample):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        pack.write(pack.directory(samples.SAMPLES / sample),
                   folder / 'a.csar')
        with zipfile.ZipFile(folder / 'a.csar') as archive:
            archive.extractall(folder)
        return str(folder)

    def instance(self, **metadata):
        return {'id': 'vnf', 'vnfdId': 'v', 'instantiatedVnfInfo': {
            'flavourId': 'simple', 'metadata': metadata,
            'vnfcResourceInfo': [{'vduId': 'VDU1', 'metadata': {
                'flavor': 'made-before'}}]}}

    def changed(self, sample, instance, request=None):
        return v2.RtDefaultUserData.change_vnfpkg(
            request or {}, instance, {'dstVnfdId': 'w'}, {},
            self.unpacked(sample))

    def refused(self, function, request, grant=None):
        error = self.assertRaises(
            SystemExit, function, request, self.instance(), {}, grant or {},
            '/no/package')
        return str(error)

    def test_wishes_that_cannot_be_given(self):
        for cls in (v2.RtDefaultUserData, v2.RtStandardUserData):
            for name, purpose in (
                    ('scale', 'scale'), ('heal', 'heal'),
                    ('change_ext_conn', 'change connectivity')):
                for key in (*HINTS, 'cpu.rt_carrier', 'cpu.rt_runtme_us'):
                    wish = {'additionalParams': {'nfv': {'VDU': {
                        'VDU1': {key: None}}}}}
                    end = (f' VDU VDU1: {key}=None: a request to {purpose} '
                           'cannot ask for a reservation; ask for the '
                           'reservation when you instantiate the VNF or '
                           'change its package.')
                    self.assertEqual(
                        '\ntacker_rt: additionalParams:' + end,
                        self.refused(getattr(cls, name), wish))
                    self.assertEqual(
                        '\ntacker_rt: additionalParams of the grant:' + end,
                        self.refused(getattr(cls, name), {}, wish))

    def test_what_a_change_asks_for_is_kept(self):
        wish = {'additionalParams': {'nfv': {'VDU': {'VDU1': {
            'cpu.rt_runtime_us': 70000, 'computeFlavourId': 'x'}}}}}
        fields = self.changed('change-vnfpkg/after', self.instance(), wish)
        self.assertEqual(
            {'cpu.rt_runtime_us': 70000, 'computeFlavourId': 'm1.lxc'},
            fields['parameters']['nfv']['VDU']['VDU1'])

    def test_a_rollback_goes_back_to_what_was_kept(self):
        for kept in (50000, None):
            nfv = {'VDU': {'VDU1': {'cpu.rt_runtime_us': kept}
                           if kept else {}}}
            fields = v2.RtDefaultUserData.change_vnfpkg_rollback(
                {'additionalParams': {'nfv': {'VDU': {'VDU1': {
                    'cpu.rt_runtime_us': 70000}}}}}, self.instance(nfv=nfv),
                {}, {}, self.unpacked('change-vnfpkg/before'))
            self.assertEqual(kept, fields['parameters']['nfv']['VDU'][
                'VDU1']['cpu.rt_runtime_us'])
            self.assertIn(f'cpu.rt_runtime_us: {kept or 60000}',
                          fields['files']['VDU1.yaml'])

    def test_what_was_kept_is_wrong_now(self):
        instance = self.instance(
            nfv={'VDU': {'VDU1': {'cpu.rt_runtime_us': 999999}}})
        error = self.assertRaises(SystemExit, self.changed,
                                  'change-vnfpkg/after', instance)
        self.assertEqual(
            '\ntacker_rt: kept with the stack: VDU VDU1: '
            'cpu.rt_runtime_us=999999: it is more than the period of 100000; '
            'ask for another value, or for null, when you change the '
            'package.', str(error))

    def test_source_is_logged(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        v2.RtDefaultUserData.instantiate(
            {'flavourId': 'simple', 'additionalParams': {'nfv': {'VDU': {
                'VDU1': {'cpu.rt_runtime_us': 70000}}}}},
            {'id': 'vnf', 'vnfdId': 'v'}, {}, {},
            self.unpacked('sol001-hints/package'))
        self.assertIn(
            'VDU VDU1: 70000 us every 100000 us (share 0.700) from request, '
            'carried by hints', log.output)

    def instantiate(self, folder, granted=None, asked=None,
                    cls=v2.RtDefaultUserData):
        fields = cls.instantiate(
            {'flavourId': 'simple', 'additionalParams': {
                'nfv': asked or {}}},
            {'id': 'vnf', 'vnfdId': 'v'},
            {'addResources': [{'id': 'a', 'type': 'COMPUTE',
                               'resourceTemplateId': 'VDU1'}]},
            {'additionalParams': {'nfv': granted}} if granted else {},
            folder)
        return yaml.safe_load(fields['files']['VDU1.yaml'])['resources'][
            'VDU1']['properties']

    def test_what_the_nfvo_grants_wins(self):
        """The grant wins, as it does in the parameter nfv of the stack."""
        def asks(runtime):
            return {'VDU': {'VDU1': {'cpu.rt_runtime_us': runtime}}}

        folder = self.unpacked('sol001-hints/package')
        for granted, asked, runtime in (
                (asks(80000), None, 80000), (asks(80000), asks(70000), 80000),
                ({'VDU': {}}, asks(70000), 70000)):
            server = self.instantiate(folder, granted, asked)
            self.assertEqual({**HINTS, 'cpu.rt_runtime_us': runtime},
                             server['scheduler_hints'])
        standard = self.unpacked('sol001-individual/package')
        server = self.instantiate(standard, asks(80000),
                                  cls=v2.RtStandardUserData)
        self.assertEqual(80000, server['scheduler_hints'][
            'cpu.rt_runtime_us'])

    def test_what_the_nfvo_grants_at_a_change(self):
        fields = v2.RtDefaultUserData.change_vnfpkg(
            {}, self.instance(), {'dstVnfdId': 'w'}, {'additionalParams': {
                'nfv': {'VDU': {'VDU1': {'cpu.rt_runtime_us': 90000}}}}},
            self.unpacked('change-vnfpkg/after'))
        self.assertIn('cpu.rt_runtime_us: 90000', fields['files'][
            'VDU1.yaml'])

    def test_a_request_takes_back_what_one_asked_for(self):
        instance = self.instance(
            nfv={'VDU': {'VDU1': {'cpu.rt_runtime_us': 70000}}})
        fields = self.changed('change-vnfpkg/after', instance, {
            'additionalParams': {'nfv': {'VDU': {'VDU1': {
                'cpu.rt_runtime_us': None}}}}})
        self.assertIn('cpu.rt_runtime_us: 80000', fields['files'][
            'VDU1.yaml'])

    def edited(self, sample, change):
        """An unpacked package with a changed VNFD."""
        folder = pathlib.Path(self.unpacked(sample))
        path = folder / 'Definitions' / 'vnfd.yaml'
        content = yaml.safe_load(path.read_text())
        change(content['topology_template']['node_templates']['VDU1'])
        path.write_text(yaml.safe_dump(content))
        return str(folder)

    def test_a_vdu_without_a_size(self):
        """The size is only needed if a flavor carries the reservation."""
        def change(node):
            del node['capabilities']

        folder = self.edited('sol001-hints/package', change)
        self.assertNotIn('scheduler_hints', self.instantiate(folder))

    def test_a_flavor_without_a_size(self):
        def without(node):
            del compute(node)['virtual_memory']

        def as_input(node):
            compute(node)['virtual_cpu']['num_virtual_cpu'] = {
                'get_input': 'x'}

        def odd(node):
            compute(node)['virtual_local_storage'] = [
                {'size_of_storage': 'much'}]

        def compute(node):
            return node['capabilities']['virtual_compute']['properties']

        for change in (without, as_input, odd):
            folder = self.edited('sol001-made-flavor/package', change)
            error = self.assertRaises(SystemExit, self.instantiate, folder,
                                      asked=_MADE)
            self.assertEqual(
                '\ntacker_rt: VNFD: VDU VDU1: virtual_compute does not give '
                'the size of the flavor that carries the reservation; give '
                'values for num_virtual_cpu, virtual_mem_size and '
                'size_of_storage, or use the carrier hints.', str(error))

    def test_request_of_before_is_kept(self):
        instance = self.instance(
            nfv={'VDU': {'VDU1': {'cpu.rt_runtime_us': 70000}}})
        fields = self.changed('change-vnfpkg/after', instance)
        self.assertIn('cpu.rt_runtime_us: 70000', fields['files'][
            'VDU1.yaml'])

    def test_members_keep_their_made_flavor_during_the_roll(self):
        fields = self.changed('sol001-made-flavor/package',
                              self.instance(nfv=_MADE))
        self.assertEqual('made-before', fields['parameters']['nfv']['VDU'][
            'VDU1']['computeFlavourId'])
        self.assertEqual(
            {'get_param': None, 'get_resource': 'VDU1_rt_60000_100000'},
            yaml.safe_load(fields['template'])['resources']['VDU1'][
                'properties']['flavor'])

    def test_networks_from_outside_are_not_made_again(self):
        folder = pathlib.Path(self.unpacked('sol001-hints/package'))
        path = folder / 'BaseHOT' / 'simple' / 'hot.yaml'
        hot = yaml.safe_load(path.read_text())
        hot['resources']['VL1'] = {'type': 'OS::Neutron::Net'}
        path.write_text(yaml.safe_dump(hot))
        instance = self.instance()
        instance['instantiatedVnfInfo']['extManagedVirtualLinkInfo'] = [
            {'vnfVirtualLinkDescId': 'VL1',
             'networkResource': {'resourceId': 'n'}}]
        fields = v2.RtDefaultUserData.change_vnfpkg(
            {}, instance, {'dstVnfdId': 'w'}, {}, str(folder))
        self.assertNotIn('VL1', yaml.safe_load(fields['template'])[
            'resources'])
