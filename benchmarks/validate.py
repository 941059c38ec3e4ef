# SPDX-License-Identifier: Apache-2.0

"""Measures what ``tacker-rt validate`` costs on a package of many VDUs.

usage: benchmarks/validate.py [n_vdus]     (default 100)

The package has a VNFD, a base HOT and a nested template for each VDU, as a
CSAR.  Each figure is the median of RUNS (default 7) of CPU time.  "our part"
is the time that ``validate`` takes beyond the time of PyYAML alone for the
same texts.  Exits with 1 if a goal is missed.
"""

from collections.abc import Callable
import os
import pathlib
import statistics
import sys
import tempfile
import time
import zipfile

import yaml

from tacker_rt import validate

RUNS = int(os.environ.get('RUNS', 7))
TOTAL_S, OURS_S = 3.0, 0.3

_LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_META = """TOSCA-Meta-File-Version: 1.0
Created-By: benchmark
CSAR-Version: 1.1
Entry-Definitions: Definitions/vnfd.yaml
"""
_VNFD = """
tosca_definitions_version: tosca_simple_yaml_1_2
topology_template:
  substitution_mappings:
    node_type: benchmark.Vnf
    properties: {flavour_id: simple}
  inputs:
    period: {type: integer, default: 100000}
  node_templates:
"""
_VDU = """
    %(name)s:
      type: tosca.nodes.nfv.Vdu.Compute
      properties:
        name: %(name)s
        description: One of many
        vdu_profile:
          min_number_of_instances: 1
          max_number_of_instances: 3
        sw_image_data:
          name: image
          version: '1.0'
          checksum: {algorithm: sha-256, hash: '00'}
          container_format: bare
          disk_format: raw
          min_disk: 0 GB
          size: 0 GB
      capabilities:
        virtual_compute:
          properties:
            requested_additional_capabilities:
              properties:
                requested_additional_capability_name: m1.tiny
                support_mandatory: true
                target_performance_parameters: {entry_schema: test}
            virtual_memory: {virtual_mem_size: 512 MiB}
            virtual_cpu:
              num_virtual_cpu: 1
              vdu_cpu_requirements:
                cpu.rt_runtime_us: '%(runtime)d'
                cpu.rt_period_us: {get_input: period}
            virtual_local_storage:
              - size_of_storage: 3 GB
"""
_POLICY = """
    - of_%(name)s:
        type: tacker_rt.policies.ResponseTime
        targets: [%(name)s]
        properties:
          target_us: 10000
          service_rate_hz: 1000
          arrival_rate_hz: 200
          period_us: 100000
"""
_TOP = """
  %(name)s:
    type: %(name)s.yaml
    properties:
      flavor: {get_param: [nfv, VDU, %(name)s, computeFlavourId]}
"""
_NESTED = """
heat_template_version: 2013-05-23
parameters:
  flavor: {type: string}
resources:
  %(name)s:
    type: OS::Nova::Server
    properties:
      flavor: {get_param: flavor}
      image: image
      scheduler_hints: {cpu.rt_period_us: 100000}
"""


def members(count: int) -> dict[str, str]:
    """Returns the package; each VDU has a reservation and a policy above."""
    names = [{'name': f'VDU{number}', 'runtime': 1_000 + number}
             for number in range(count)]
    folder = 'BaseHOT/simple/'

    def each(template: str) -> str:
        return ''.join(template % one for one in names)

    return {
        'TOSCA-Metadata/TOSCA.meta': _META,
        'Definitions/vnfd.yaml': (_VNFD + each(_VDU) + '  policies:\n'
                                  + each(_POLICY)),
        folder + 'hot.yaml': ('heat_template_version: 2013-05-23\n'
                              'resources:\n' + each(_TOP)),
        **{f'{folder}nested/{one["name"]}.yaml': _NESTED % one
           for one in names}}


def _load(text: bytes) -> object:
    return yaml.load(text, _LOADER)  # noqa: S506 (it is a safe loader)


def median_s(run: Callable[[], object]) -> float:
    """Returns the median CPU time of a function, in s."""
    def once() -> float:
        start = time.process_time()
        run()
        return time.process_time() - start

    return statistics.median(once() for _ in range(RUNS))


def main() -> int:
    """Runs all rounds and returns the exit status."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    package = members(count)
    texts = [text.encode() for name, text in package.items()
             if name.endswith('.yaml')]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'many.csar'
        with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
            for name, text in package.items():
                archive.writestr(name, text)
        problems = validate.validate(str(path))
        total = median_s(lambda: validate.validate(str(path)))
    loading = median_s(lambda: [_load(text) for text in texts])
    print(f'{count} VDUs, {len(texts)} YAML files, '
          f'{sum(map(len, texts)) / 1e3:.0f} kB, {len(problems)} problems')
    print(f'in all        {total:.3f} s (goal: below {TOTAL_S} s)')
    print(f'PyYAML alone  {loading:.3f} s')
    print(f'our part      {total - loading:.3f} s (goal: below {OURS_S} s)')
    if problems:
        print(problems[0])
    return int(bool(problems) or total >= TOTAL_S or total - loading >= OURS_S)


if __name__ == '__main__':
    sys.exit(main())
