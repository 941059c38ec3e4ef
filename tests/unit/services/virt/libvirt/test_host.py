# SPDX-License-Identifier: Apache-2.0

"""Tests that guests are ours and confined before they start."""

from lxml import etree
from oslo_utils.fixture import uuidsentinel as uuids
from oslotest import base

from nova_rt.services.virt.libvirt import guest
from nova_rt.services.virt.libvirt import host
from tests.unit.services.virt.libvirt import fakes

MACHINE = (f'<domain type="kvm"><uuid>{uuids.server}</uuid><name>n</name>'
           '<vcpu cpuset="0-7">2</vcpu>{}</domain>')
XML = (f'<domain type="lxc"><uuid>{uuids.server}</uuid><name>n</name>'
       '<vcpu cpuset="0-7">2</vcpu></domain>')

#: The same container as nova-rt defines it.
OWN_NETWORK = XML.replace(
    '</domain>', '<features><privnet/></features></domain>')


class Host(host.RTHost):
    """RTHost on a connection that keeps the last definition."""

    def __init__(self, held, pins=True, dropped=()):
        self.rt_reservations = fakes.Reservations(held, pins=pins)
        self.rt_dropped_capabilities = dropped
        self.defined = None

    def get_connection(self):
        return self

    def defineXML(self, xml):
        self.defined = xml
        return fakes.Domain([])

    def _get_domain(self, instance):
        return fakes.Domain([])


class RTHostTest(base.BaseTestCase):

    def defined(self, held, xml=XML, pins=True):
        target = Host(held, pins)
        self.assertIsInstance(target.write_instance_config(xml),
                              guest.RTGuest)
        return target.defined

    def test_confined_to_the_claim(self):
        root = etree.fromstring(self.defined(fakes.claim(cpus=(5, 1))))
        self.assertEqual(('1,5', '2', uuids.server), (
            root.find('vcpu').get('cpuset'), root.findtext('vcpu'),
            root.findtext('uuid')))

    def test_a_pcpu_for_each_vcpu(self):
        """The emulator stays where Nova lets it run."""
        for tune in ('', '<cputune/>',
                     '<cputune><shares>5</shares><vcpupin vcpu="0" '
                     'cpuset="0-7"/><vcpupin vcpu="1" cpuset="0-7"/>'
                     '<emulatorpin cpuset="0-7"/></cputune>'):
            root = etree.fromstring(self.defined(
                fakes.claim(cpus=(5, 1)), MACHINE.replace('{}', tune)))
            self.assertEqual('0-7', root.find('vcpu').get('cpuset'))
            self.assertEqual(
                [('0', '5'), ('1', '1')],
                [(pin.get('vcpu'), pin.get('cpuset'))
                 for pin in root.findall('cputune/vcpupin')])
            if 'emulatorpin' in tune:
                self.assertEqual('0-7', root.find(
                    'cputune/emulatorpin').get('cpuset'))
                self.assertEqual('5', root.findtext('cputune/shares'))

    def test_emulator_threads_have_a_limit(self):
        for pins in (True, False):
            target = Host(fakes.claim(cpus=(5, 1)), pins)
            target.rt_emulator_quota = 5000, 10_000
            target.write_instance_config(MACHINE.replace(
                '{}', '<cputune><emulator_quota>9</emulator_quota>'
                '</cputune>'))
            tune = etree.fromstring(target.defined).find('cputune')
            self.assertEqual(['5000'], [
                each.text for each in tune.findall('emulator_quota')])
            self.assertEqual(['10000', '5000', '10000'], [
                tune.findtext(name) for name in (
                    'emulator_period', 'iothread_quota',
                    'iothread_period')])

    def test_no_limit_without_emulator_threads(self):
        for held, xml in ((fakes.claim(), XML), (None, MACHINE.replace(
                '{}', ''))):
            target = Host(held)
            target.rt_emulator_quota = 5000, 10_000
            target.write_instance_config(xml)
            self.assertNotIn('quota', target.defined)

    def test_vcpus_without_a_reservation_stay_where_nova_has_them(self):
        for tune, pins in (
                ('', {'1': '5', '2': '1'}),
                ('<cputune><vcpupin vcpu="0" cpuset="0-3"/><vcpupin vcpu="1" '
                 'cpuset="0-3"/></cputune>',
                 {'0': '0-3', '1': '5', '2': '1'})):
            root = etree.fromstring(self.defined(
                fakes.claim(cpus=(5, 1), unreserved=(0,)),
                MACHINE.replace('{}', tune)))
            self.assertEqual(pins, {
                pin.get('vcpu'): pin.get('cpuset')
                for pin in root.findall('cputune/vcpupin')})

    def test_no_pins_where_the_enforcer_needs_none(self):
        self.assertEqual(OWN_NETWORK,
                         self.defined(fakes.claim(), pins=False))

    def test_no_reservation(self):
        self.assertEqual(OWN_NETWORK, self.defined(None))

    def test_capabilities_are_given_up_by_all(self):
        for held in (None, fakes.claim()):
            target = Host(held, dropped=('sys_nice',))
            target.write_instance_config(XML)
            self.assertIn('<sys_nice state="off"/>', target.defined)

    def test_no_vcpu_element(self):
        xml = f'<domain><uuid>{uuids.server}</uuid></domain>'
        self.assertEqual(xml, self.defined(fakes.claim(), xml))

    def test_guest_found_again_is_ours(self):
        self.assertIsInstance(Host(None).get_guest(None), guest.RTGuest)
