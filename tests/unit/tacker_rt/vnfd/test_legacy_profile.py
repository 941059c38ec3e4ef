# SPDX-License-Identifier: Apache-2.0

"""Tests that VNFDs of Tacker's own time come out as templates."""

import pathlib

import fixtures
from oslotest import base

from tacker_rt import translate

_VNFD = """
tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0
topology_template:
  node_templates:
    VDU1:
      type: tosca.nodes.nfv.VDU.Tacker
      capabilities:
        nfv_compute:
          properties:
            num_cpus: 1
            mem_size: 512 MB
            disk_size: 1 GB
            mem_page_size: small
            numa_node_count: 2
            cpu_allocation:
              cpu.rt_runtime_us: 60000
              cpu.rt_period_us: 100000
      properties:
        image: cirros
        availability_zone: nova
        mgmt_driver: openwrt
        config: 'param0: key1'
        monitoring_policy: {name: ping, actions: {failure: respawn}}
    VDU2:
      type: tosca.nodes.nfv.VDU.Tacker
      properties: {mgmt_driver: noop}
    CP1:
      type: tosca.nodes.nfv.CP.Tacker
      properties:
        management: true
        order: 0
        anti_spoofing_protection: false
        security_groups: [default]
        allowed_address_pairs: [{ip_address: 10.0.0.9}]
        type: sriov
      requirements:
        - virtualLink: {node: VL1}
        - virtualBinding: {node: VDU1}
    VL1:
      type: tosca.nodes.nfv.VL
      properties: {network_name: net_mgmt, vendor: Tacker}
    FP1:
      type: tosca.nodes.nfv.FP.TackerV2
      properties: {path: [{forwarder: VDU1, capability: CP1}]}
  groups:
    VNFFG1:
      type: tosca.groups.nfv.VNFFG
      members: [FP1]
  policies:
    - SP1:
        type: tosca.policies.tacker.Scaling
        targets: [VDU1]
        properties: {increment: 1, min_instances: 1}
    - apart:
        type: tosca.policies.tacker.Placement
        targets: [VDU1, VDU2]
        properties: {policy: anti-affinity}
"""


class LegacyProfileTest(base.BaseTestCase):

    def translated(self, text):
        folder = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        path = folder / 'vnfd.yaml'
        path.write_text(text)
        warnings = []
        made = translate.translate(path, warnings=warnings)
        return made[translate.MAIN]['resources'], list(map(str, warnings))

    def test_what_is_translated(self):
        made, _ = self.translated(_VNFD)
        self.assertEqual({'VDU1', 'VDU1_flavor', 'VDU2', 'VDU2_flavor',
                          'CP1', 'apart'}, set(made))
        self.assertEqual(
            {'cpu.rt_runtime_us': 60000, 'cpu.rt_period_us': 100000,
             'group': {'get_resource': 'apart'}},
            made['VDU1']['properties']['scheduler_hints'])
        self.assertEqual(
            {'network': 'net_mgmt', 'port_security_enabled': False,
             'security_groups': ['default'],
             'allowed_address_pairs': [{'ip_address': '10.0.0.9'}],
             'binding:vnic_type': 'direct'}, made['CP1']['properties'])

    def test_what_is_left_out_is_named(self):
        _, warnings = self.translated(_VNFD)
        self.assertEqual(
            [f'vnfd.yaml: {text} is not translated; this part is left out; '
             'provide for it in another way.' for text in (
                 'VDU VDU1: config: the property',
                 'VDU VDU1: mgmt_driver: the property',
                 'VDU VDU1: monitoring_policy: the property',
                 'VDU VDU1: mem_page_size: the property',
                 'VDU VDU1: numa_node_count: the property',
                 'VDU CP1: management: the property',
                 'FP1: tosca.nodes.nfv.FP.TackerV2',
                 'SP1: tosca.policies.tacker.Scaling',
                 'VNFFG1: tosca.groups.nfv.VNFFG')], warnings)

    def test_nothing_is_left_out_of_the_samples(self):
        folder = pathlib.Path(__file__).parents[4] / 'tosca-samples'
        for path in folder.glob('legacy/*.yaml'):
            warnings = []
            translate.translate(path, warnings=warnings)
            self.assertEqual([], warnings)

    def test_odd_parts_do_not_end_it(self):
        """tosca-parser refuses odd parts."""
        for old, new in (('policies:', 'policies: 5\n  x:'),
                         ('groups:', 'groups: []\n  y:'),
                         ('properties: {mgmt_driver: noop}', 'properties: 5')):
            content = _VNFD.replace(old, new)
            try:
                self.translated(content)
            except translate.exception.InvalidVnfd as error:
                self.assertNotIn('\n', str(error))
