# SPDX-License-Identifier: Apache-2.0

"""A second reading of descriptors, as plain as can be, to compare with.

The oracle does not use tacker_rt or nova_rt.  The oracle only has to be right
for accepted descriptors, and may fail in any way for others.
"""

import math

RUNTIME, PERIOD = 'cpu.rt_runtime_us', 'cpu.rt_period_us'
_VDUS = ('tosca.nodes.nfv.Vdu.Compute', 'tosca.nodes.nfv.VDU.Tacker',
         'tosca.nodes.nfv.VDU')
_UNKNOWN = 'unknown'


def _number(value, inputs):
    if isinstance(value, dict):
        value = (inputs[value['get_input']] or {}).get('default')
        if value is None:
            return _UNKNOWN
    return int(value)


def _below(value, *keys):
    for key in keys:
        value = (value or {}).get(key)
    return value or {}


def _parameters(capabilities):
    named = _below(capabilities, 'virtual_compute', 'properties',
                   'requested_additional_capabilities')
    return [_below(one, 'target_performance_parameters')
            for one in named.values()]


def _response_time(given):
    values = {'percentile': 0.99, 'network_delay_us': 0, 'max_share': 0.95,
              **given}
    arrivals, service = (values['arrival_rate_hz'] / 1e6,
                         values['service_rate_hz'] / 1e6)
    period = int(values['period_us'])
    left = values['target_us'] - 2 * values['network_delay_us'] - period
    # (left + period x) (service x - arrivals) = -ln(1 - percentile)
    square, linear = service * period, service * left - arrivals * period
    rest = math.log(1 - values['percentile']) - arrivals * left
    share = (math.sqrt(linear ** 2 - 4 * square * rest) - linear
             ) / (2 * square)
    assert 0 < share <= values['max_share']
    return share * period


class Vdu:
    """The numbers that a VDU must have; computed ones are approximate."""

    def __init__(self, name, node, topology):
        inputs = topology.get('inputs') or {}
        capabilities = node.get('capabilities')
        self.numbers, self.about = {}, None
        for place in (
                _below(capabilities, 'nfv_compute', 'properties',
                       'cpu_allocation'),
                *_parameters(capabilities),
                _below(capabilities, 'virtual_compute', 'properties',
                       'virtual_cpu', 'vdu_cpu_requirements')):
            for key in (RUNTIME, PERIOD):
                if key in place:
                    self.numbers[key] = _number(place[key], inputs)
        self._add_policies(name, topology.get('policies') or [], inputs)

    def _add_policies(self, name, policies, inputs):
        for one in [policies] if isinstance(policies, dict) else policies:
            for policy in one.values():
                self._add_policy(name, policy, inputs)

    def _add_policy(self, name, policy, inputs):
        kind = policy['type']
        if not kind.startswith('tacker_rt.') or name not in policy['targets']:
            return
        given = policy['properties']
        if kind == 'tacker_rt.policies.CpuReservation':
            self.numbers = {RUNTIME: _number(given['runtime_us'], inputs),
                            PERIOD: _number(given['period_us'], inputs)}
        elif kind != 'tacker_rt.policies.Workload':
            self.numbers = {PERIOD: int(given['period_us'])}
            self.about = _response_time(given)

    def agrees(self, hints, is_open):
        """*is_open* tells whether a hint waits for its input."""
        hints = dict(hints)
        if self.about is not None:
            runtime = hints.pop(RUNTIME)
            if not -1e-3 <= runtime - self.about <= 2:
                return False
        return {key: _UNKNOWN if is_open(value) else value
                for key, value in hints.items()} == self.numbers


def read(template):
    """The VDUs of a descriptor by name."""
    topology = template.get('topology_template') or {}
    nodes = topology.get('node_templates') or {}
    parents = {name: kind.get('derived_from') for name, kind
               in (template.get('node_types') or {}).items()
               if isinstance(kind, dict)}
    return {name: Vdu(name, node, topology) for name, node in nodes.items()
            if _is_vdu(node['type'], parents)}


def _is_vdu(kind, parents):
    for _ in range(9):
        if kind in _VDUS:
            return True
        kind = parents.get(kind) if isinstance(kind, str) else None
    return False


def lost(template):
    """Counts the keys that are outside of all VDUs and policies."""
    read_at = sum(len({RUNTIME, PERIOD} & set(_below(
        node.get('capabilities'), *path)))
        for name, node in _below(template, 'topology_template',
                                 'node_templates').items()
        if name in read(template)
        for path in (('nfv_compute', 'properties', 'cpu_allocation'),
                     ('virtual_compute', 'properties', 'virtual_cpu',
                      'vdu_cpu_requirements')))
    read_at += sum(
        len({RUNTIME, PERIOD} & set(one))
        for name, node in _below(template, 'topology_template',
                                 'node_templates').items()
        if name in read(template)
        for one in _parameters(node.get('capabilities')))
    body = {key: value for key, value in template.items()
            if not str(key).endswith(('_types', '_definitions'))}
    body['topology_template'] = {
        **(body.get('topology_template') or {}), 'inputs': None}
    return _count(body) - read_at


def _count(value):
    if isinstance(value, dict):
        return sum((key in (RUNTIME, PERIOD)) or _count(inner)
                   for key, inner in value.items())
    return sum(map(_count, value)) if isinstance(value, list) else 0
