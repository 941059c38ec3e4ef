# SPDX-License-Identifier: Apache-2.0

"""nova_rt.services.virt.libvirt.description."""

import pathlib
import tempfile

import hypothesis
from hypothesis import strategies as st
import libvirt
from lxml import etree
from nova.network import model

from nova_rt.machine.host import files as host_files
from nova_rt.rules import labels
from nova_rt.services.virt.libvirt import description
from rt_monitor import domains
from tests.unit import base

DOMAIN = '''<domain type='test'><name>n</name><memory>1024</memory>
<os><type>hvm</type></os><metadata><nova:instance
xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'>
<nova:name>a</nova:name></nova:instance>{}</metadata></domain>'''
NAME = f'{{{labels.NAMESPACE}}}'


def described(metadata, network_info=None):
    """Returns the metadata for libvirt: the VNF, and floating addresses."""
    server = base.instance()
    server.metadata = metadata
    found = etree.fromstring(
        description.describe(server, network_info).to_xml())
    return (found.findtext(f'{NAME}vnf'),
            [each.get('address') for each in found.findall(
                f'{NAME}floating')])


def kept(domain):
    """Returns what monitoring reads from libvirt's file of a domain."""
    with tempfile.TemporaryDirectory() as root:
        folder = pathlib.Path(root, 'run/libvirt/qemu')
        folder.mkdir(parents=True)
        (folder / 'n.xml').write_text(
            f"<domstatus pid='7'>{domain.XMLDesc()}</domstatus>")
        found = domains.find(host_files.Host(root), 7)
    return found.vnf, [*found.addresses]


class DescriptionTest(base.TestCase):

    def test_floating_addresses(self):
        fixed = model.FixedIP(address='10.0.0.5')
        fixed.add_floating_ip(model.IP(address='203.0.113.7'))
        plain = model.FixedIP(address='10.0.0.6')
        info = model.NetworkInfo([model.VIF(network=model.Network(
            subnets=[model.Subnet(ips=[fixed, plain])]))])
        self.assertEqual((None, ['203.0.113.7']), described({}, info))

    def test_a_vnf(self):
        self.assertEqual(('a-1.B_', []), described(
            {labels.VNF_KEY: 'a-1.B_', 'other': 'x'}))

    def test_libvirt_keeps_it(self):
        """A real one, whose driver for tests has the same metadata."""
        connection = libvirt.open('test:///default')
        self.addCleanup(connection.close)
        first = description.Description('v1', ['203.0.113.7', '2001:db8::7'])
        domain = connection.createXML(DOMAIN.format(first.to_xml()), 0)
        self.assertEqual(('v1', ['203.0.113.7', '2001:db8::7']),
                         kept(domain))
        for floating in (['203.0.113.8'], []):
            description.tell(domain, description.Description('v', floating))
            self.assertEqual(('v', floating), kept(domain))
        self.assertIn('<nova:name>a', domain.XMLDesc())

    def test_what_is_no_name(self):
        for name in ('', 'a b', 'a\n', '<x>', 'y' * 65):
            self.assertEqual((None, []), described({labels.VNF_KEY: name}))

    @hypothesis.given(st.text(max_size=255))
    def test_anything(self, name):
        """Metadata is a tenant's: no server fails to start for it."""
        vnf, _ = described({labels.VNF_KEY: name})
        self.assertIn(vnf, (None, name))
