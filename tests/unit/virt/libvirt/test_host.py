# SPDX-License-Identifier: Apache-2.0

"""What is tested here: guests are ours and confined before they start."""

from lxml import etree
from oslo_utils.fixture import uuidsentinel as uuids
from oslotest import base

from nova_rt.virt.libvirt import guest
from nova_rt.virt.libvirt import host
from tests.unit.virt.libvirt import fakes

XML = (f'<domain type="lxc"><uuid>{uuids.server}</uuid><name>n</name>'
       '<vcpu cpuset="0-7">2</vcpu></domain>')


class Host(host.RTHost):
    """RTHost on a connection that keeps the last definition."""

    def __init__(self, held):
        self.rt_reservations = fakes.Reservations(held)
        self.defined = None

    def get_connection(self):
        return self

    def defineXML(self, xml):
        self.defined = xml
        return fakes.Domain([])

    def _get_domain(self, instance):
        return fakes.Domain([])


class RTHostTest(base.BaseTestCase):

    def defined(self, held, xml=XML):
        target = Host(held)
        self.assertIsInstance(target.write_instance_config(xml),
                              guest.RTGuest)
        return target.defined

    def test_confined_to_the_claim(self):
        root = etree.fromstring(self.defined(fakes.claim(cpus=(5, 1))))
        self.assertEqual(('1,5', '2', uuids.server), (
            root.find('vcpu').get('cpuset'), root.findtext('vcpu'),
            root.findtext('uuid')))

    def test_no_reservation(self):
        self.assertEqual(XML, self.defined(None))

    def test_no_vcpu_element(self):
        xml = f'<domain><uuid>{uuids.server}</uuid></domain>'
        self.assertEqual(xml, self.defined(fakes.claim(), xml))

    def test_guest_found_again_is_ours(self):
        self.assertIsInstance(Host(None).get_guest(None), guest.RTGuest)
