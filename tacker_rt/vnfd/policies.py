# SPDX-License-Identifier: Apache-2.0

"""Reads what the policies of tacker_rt say about the VDUs they target."""

from collections.abc import Callable, Iterator, Mapping
import difflib
from typing import Any, TypeVar

from nova_rt.rules import reservation as nova_reservation

from tacker_rt import problem
from tacker_rt.vnfd import inputs as tosca_inputs
from tacker_rt.vnfd import response_time
from tacker_rt.vnfd import statements
from tacker_rt.vnfd import topology
from tacker_rt.vnfd import workload

CPU_RESERVATION = 'tacker_rt.policies.CpuReservation'
RESPONSE_TIME = 'tacker_rt.policies.ResponseTime'
WORKLOAD = 'tacker_rt.policies.Workload'

_PREFIX = 'tacker_rt.'

Said = TypeVar('Said')
Reader = Callable[[problem.Place, dict[Any, Any], tosca_inputs.Inputs],
                  Said | None]


def _cpu_reservation(place: problem.Place, properties: dict[Any, Any],
                     inputs: tosca_inputs.Inputs
                     ) -> statements.Statement | None:
    for key in nova_reservation.KEYS:
        name = statements.POLICY.names[key]
        if name not in properties:
            place.say('the key is missing', 'give both runtime and period',
                      key=name)
    return statements.read(place, statements.POLICY, properties,
                           inputs.resolve)


_RESERVATIONS: dict[str, Reader[statements.Statement]] = {
    CPU_RESERVATION: _cpu_reservation, RESPONSE_TIME: response_time.read}
_WORKLOADS: dict[str, Reader[Mapping[str, str]]] = {WORKLOAD: workload.read}
_TYPES = (*_RESERVATIONS, *_WORKLOADS)


def is_ours(policy_type: str) -> bool:
    """Tells whether a type is one of ours, or a misspelt one of ours."""
    return policy_type.startswith(_PREFIX) or bool(
        difflib.get_close_matches(policy_type, _TYPES, n=1, cutoff=0.85))


def read(parts: topology.Topology, inputs: tosca_inputs.Inputs
         ) -> dict[str, list[statements.Statement]]:
    """Returns the statement of each VDU for which a policy reserves."""
    for policy in _ours(parts):
        if policy.type not in _TYPES:
            targets = list(dict.fromkeys(_targets(policy, parts)))
            policy.place.for_vdu(', '.join(targets) or None).add(
                'type', policy.type, 'tacker_rt has no such policy',
                problem.nearest(policy.type, _TYPES))
    return {name: [statement] for name, statement
            in _read(parts, inputs, _RESERVATIONS).items()}


def workloads(parts: topology.Topology, inputs: tosca_inputs.Inputs
              ) -> dict[str, Mapping[str, str]]:
    """Returns the hints about the workload of each VDU, by VDU."""
    return _read(parts, inputs, _WORKLOADS)


def _ours(parts: topology.Topology) -> Iterator[topology.Part]:
    for policy in parts.policies:
        if any(map(is_ours, parts.lineage(policy.type))):
            yield policy


def _read(parts: topology.Topology, inputs: tosca_inputs.Inputs,
          readers: Mapping[str, Reader[Said]]) -> dict[str, Said]:
    """Returns the results of these readers for all policies, by VDU.

    A VDU may have one such policy.
    """
    statement_by_vdu: dict[str, Said] = {}
    first: dict[str, str] = {}
    for policy in _ours(parts):
        reader = readers.get(policy.type)
        if reader is None:
            continue
        targets = list(dict.fromkeys(_targets(policy, parts)))
        place = policy.place.for_vdu(', '.join(targets) or None)
        statement = reader(place, place.section(policy.body, 'properties'),
                           inputs)
        for name in targets:
            if name in first:
                policy.place.for_vdu(name).say(
                    f'the policy {first[name]} also targets this VDU',
                    'keep one of the two policies')
            elif statement is not None:
                statement_by_vdu[name] = statement
            first.setdefault(name, problem.name(policy.name))
    return statement_by_vdu


def _targets(policy: topology.Part, parts: topology.Topology
             ) -> Iterator[str]:
    targets = policy.body.get('targets')
    if not isinstance(targets, list) or not targets:
        policy.place.add('targets', targets, 'targets must be a list of VDUs',
                         'write targets: [VDU1]')
        return
    for target in targets:
        if isinstance(target, str) and target in parts.vdus:
            yield target
        elif isinstance(target, str) and target in parts.containers:
            policy.place.add('targets', target, *topology.NO_CONTAINERS)
        else:
            policy.place.add('targets', target, 'the VNFD has no such VDU',
                             problem.nearest(target, parts.vdus))
