# SPDX-License-Identifier: Apache-2.0

"""The samples that the tests read, and descriptors made for one test."""

import pathlib

import yaml

SAMPLES = pathlib.Path(__file__).parents[3] / 'tosca-samples'
INVALID = SAMPLES / 'invalid'

_SOL001 = """
topology_template:
  node_templates:
    VDU1:
      type: tosca.nodes.nfv.Vdu.Compute
      capabilities:
        virtual_compute:
          properties:
            virtual_cpu:
              num_virtual_cpu: 1
              vdu_cpu_requirements: {}
"""
_LEGACY = """
topology_template:
  node_templates:
    VDU1:
      type: tosca.nodes.nfv.VDU.Tacker
      capabilities:
        nfv_compute:
          properties:
            num_cpus: 4
            cpu_allocation: {}
"""


def packages():
    """Directories of packages without a problem."""
    return sorted(path.parent for path in SAMPLES.rglob('Definitions')
                  if INVALID not in path.parents)


def valid():
    """Files of VNFDs without a problem."""
    return sorted((*SAMPLES.glob('legacy/*.yaml'),
                   *(path / 'Definitions/vnfd.yaml' for path in packages())))


def hints(runtime, period):
    return {'cpu.rt_runtime_us': runtime, 'cpu.rt_period_us': period}


def sol001(requirements=None, **sections):
    """A parsed VNFD with one VDU; *sections* of its topology template."""
    template = yaml.safe_load(_SOL001)
    virtual_cpu = properties(template)['virtual_cpu']
    virtual_cpu['vdu_cpu_requirements'] = requirements
    template['topology_template'].update(sections)
    return template


def legacy(allocation=None, **sections):
    template = yaml.safe_load(_LEGACY)
    properties(template, 'nfv_compute')['cpu_allocation'] = allocation
    template['topology_template'].update(sections)
    return template


def node(template):
    return template['topology_template']['node_templates']['VDU1']


def properties(template, capability='virtual_compute'):
    return node(template)['capabilities'][capability]['properties']


def policy(properties, kind='CpuReservation', name='reserved'):
    return {name: {'type': f'tacker_rt.policies.{kind}', 'targets': ['VDU1'],
                   'properties': properties}}
