# SPDX-License-Identifier: Apache-2.0

"""Tests what root of a container is left with."""

from lxml import etree
import msgpack
from nova.privsep import idmapshift
from nova.virt.libvirt import config
from nova.virt.libvirt import driver
from oslotest import base

from nova_rt.services.virt.libvirt import confinement

XML = '<domain type="lxc"><name>n</name>{}</domain>'
STRINGS = ['0:1000000:65536', '65536:2000000:10']
RANGES = ((0, 1_000_000, 65_536), (65_536, 2_000_000, 10))


class CapabilitiesTest(base.BaseTestCase):

    def found(self, features, *names):
        root = etree.fromstring(
            confinement.without(XML.format(features), names))
        (kept,) = root.findall('features/capabilities')
        return root, kept.get('policy'), {
            each.tag: each.get('state') for each in kept}

    def test_given_up(self):
        _, policy, states = self.found('', 'sys_nice', 'sys_resource')
        self.assertEqual(('default', {'sys_nice': 'off',
                                      'sys_resource': 'off'}),
                         (policy, states))

    def test_other_features_are_kept(self):
        root, _, states = self.found(
            '<features><privnet/><capabilities policy="default">'
            '<mknod state="on"/><sys_nice state="on"/></capabilities>'
            '</features>', 'sys_nice')
        self.assertEqual({'mknod': 'on', 'sys_nice': 'off'}, states)
        self.assertIsNotNone(root.find('features/privnet'))

    def test_nothing_to_give_up(self):
        xml = XML.format('')
        self.assertEqual(xml, confinement.without(xml, ()))

    def test_virtual_machines_have_none(self):
        xml = XML.format('').replace('lxc', 'kvm')
        self.assertEqual(xml, confinement.without(xml, ('sys_nice',)))


class NetworkTest(base.BaseTestCase):

    def found(self, xml):
        root = etree.fromstring(confinement.apart(xml))
        return len(root.findall('features/privnet'))

    def test_container_without_ports(self):
        self.assertEqual(1, self.found(XML.format('')))

    def test_only_once(self):
        self.assertEqual(1, self.found(XML.format(
            '<features><privnet/></features>')))

    def test_virtual_machines_have_their_own(self):
        self.assertEqual(0, self.found(XML.format('').replace('lxc', 'kvm')))


class MapsTest(base.BaseTestCase):

    def maps(self, kind):
        return driver.LibvirtDriver._create_idmaps(kind, STRINGS)

    def test_nova_needs_it(self):
        """This test fails with a Nova that confines containers by itself."""
        self.assertRaises(TypeError, msgpack.packb, self.maps(
            config.LibvirtConfigGuestUIDMap))

    def test_what_privsep_gets(self):
        for kind in (config.LibvirtConfigGuestUIDMap,
                     config.LibvirtConfigGuestGIDMap):
            sent = confinement.sendable(self.maps(kind))
            got = msgpack.unpackb(msgpack.packb(sent), use_list=False)
            self.assertEqual(RANGES, got)
            self.assertEqual(1_000_033, idmapshift.find_target_id(
                33, got, idmapshift.NOBODY_ID, {}))

    def test_what_libvirt_gets(self):
        for kind in (config.LibvirtConfigGuestUIDMap,
                     config.LibvirtConfigGuestGIDMap):
            plain = self.maps(kind)
            sent = confinement.sendable(plain)
            self.assertEqual([each.to_xml() for each in plain],
                             [each.to_xml() for each in sent])
            for each in sent:
                self.assertIsInstance(each, kind)
