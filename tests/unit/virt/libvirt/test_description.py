# SPDX-License-Identifier: Apache-2.0

"""nova_rt.virt.libvirt.description."""

import hypothesis
from hypothesis import strategies as st
from lxml import etree
from nova.network import model

from nova_rt import labels
from nova_rt.virt.libvirt import description
from tests.unit import base

NAME = f'{{{labels.NAMESPACE}}}'


def described(metadata, network_info=None):
    """What libvirt is told: the VNF, and floating addresses."""
    server = base.instance()
    server.metadata = metadata
    found = etree.fromstring(
        description.describe(server, network_info).to_xml())
    return (found.findtext(f'{NAME}vnf'),
            [each.get('address') for each in found.findall(
                f'{NAME}floating')])


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

    def test_what_is_no_name(self):
        for name in ('', 'a b', 'a\n', '<x>', 'y' * 65):
            self.assertEqual((None, []), described({labels.VNF_KEY: name}))

    @hypothesis.given(st.text(max_size=255))
    def test_anything(self, name):
        """Metadata is a tenant's: no server fails to start for it."""
        vnf, _ = described({labels.VNF_KEY: name})
        self.assertIn(vnf, (None, name))
