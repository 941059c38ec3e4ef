# SPDX-License-Identifier: Apache-2.0

"""The samples, and the reservations that each must result in."""

from collections.abc import Iterator
import json
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parents[3] / 'tosca-samples'
IMAGE = 'lxc-busybox'

#: Extra specs of the flavors that the cloud has.
FLAVORS = {
    'flavor_rt1': {'hw:cpu.rt_runtime_us': '60000',
                   'hw:cpu.rt_period_us': '100000'},
    'hv.rt': {'hw:numa_nodes': '1', 'hw:mem_page_size': 'large',
              'hw:cpu.rt_runtime_us': '6000',
              'hw:cpu.rt_period_us': '10000'}}

#: Legacy VNFDs, with runtime and period of each VDU.
LEGACY: dict[str, dict[str, list[int] | None]] = {
    'inputs': {'VDU_A': [60000, 100000]},
    'mask': {'VDU_A': [30000, 100000]},
    'named-flavor': {'VDU_A': [60000, 100000]},
    'override': {'VDU_A': [80000, 100000]},
    'paper-5.1': {'VDU_A': [60000, 100000]},
    'ports': {'VDU_A': [30000, 100000]},
    'two-vdus-placement': {'VDU_A': [30000, 100000],
                           'VDU_B': [5000, 10000]},
    'workload': {'VDU1': None},
}
#: Samples that are also made into packages.
PACKAGED = ('named-flavor', 'override', 'paper-5.1')

PACKAGES = {
    'devstack': 'devstack/package',
    'sol001-hints': 'sol001-hints/package',
    'sol001-flavor': 'sol001-flavor/package',
    'sol001-high-performance': 'sol001-high-performance/package',
    'sol001-made-flavor': 'sol001-made-flavor/package',
    'sol001-scaling': 'sol001-scaling/package',
    'sol001-individual': 'sol001-individual/package',
    'sol001-p99': 'sol001-p99/package',
    'sol001-workload': 'sol001-workload/package',
    'sol001-probe': 'sol001-probe/package',
    'v1-tosca': 'v1-tosca/package',
    'v1-userdata': 'v1-userdata/package',
    'before': 'change-vnfpkg/before',
    'after': 'change-vnfpkg/after',
}

#: A sample with its requests: the package, the number of servers at the start,
#: and the requests.
LIVES = (
    ('devstack', 'devstack', 1, ('instantiate',)),
    ('sol001-hints', 'sol001-hints', 1, ('instantiate', 'heal')),
    ('sol001-hints', 'sol001-hints', 1, ('instantiate-more',)),
    ('sol001-flavor', 'sol001-flavor', 1, ('instantiate',)),
    ('sol001-high-performance', 'sol001-high-performance', 1,
     ('instantiate',)),
    ('sol001-made-flavor', 'sol001-made-flavor', 1, ('instantiate',)),
    ('sol001-made-flavor', 'sol001-made-flavor', 1, ('instantiate-both',)),
    ('sol001-scaling', 'sol001-scaling', 2,
     ('instantiate', 'scale-out', 'scale-in')),
    ('sol001-individual', 'sol001-individual', 2,
     ('instantiate', 'scale-out', 'scale-in', 'heal')),
    ('sol001-p99', 'sol001-p99', 1, ('instantiate',)),
    ('sol001-workload', 'sol001-workload', 1, ('instantiate',)),
    ('sol001-probe', 'sol001-probe', 1, ('instantiate',)),
    ('change-vnfpkg', 'before', 1, ('instantiate', 'change')),
    *(('sol001-hints', f'legacy-{name}', 1, ('instantiate',))
      for name in PACKAGED),
)


def vdu(package: str) -> str:
    return 'VDU_A' if package.startswith('legacy-') else 'VDU1'


def request(sample: str, name: str) -> dict[str, Any]:
    path = SAMPLES / sample / 'requests' / f'{name}.json'
    body: dict[str, Any] = json.loads(path.read_text())
    return body


def requests() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the operation and the body of every request of every sample."""
    for path in sorted(SAMPLES.glob('*/requests/*.json')):
        yield (path.stem.partition('-')[0],
               request(path.parent.parent.name, path.stem))


def legacy(name: str) -> Path:
    return SAMPLES / 'legacy' / f'{name}.yaml'
