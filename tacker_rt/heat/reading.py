# SPDX-License-Identifier: Apache-2.0

"""Reads what a VDU asks for from a node template of tosca-parser."""

from collections.abc import Iterator
import contextlib
import contextvars
from typing import Any

from tacker_rt.heat import policies
from tacker_rt import request as tacker_request
from tacker_rt.vnfd import descriptor
from tacker_rt.vnfd import statements

_INPUT = 'get_input'
#: The request.  heat-translator makes the objects that read it, and cannot
#: pass it to them.
_ASKED = contextvars.ContextVar('asked', default=tacker_request.Request())


@contextlib.contextmanager
def use_request(request: tacker_request.Request) -> Iterator[None]:
    """Makes ``read`` use a request for the VNF, within the block."""
    token = _ASKED.set(request)
    try:
        yield
    finally:
        _ASKED.reset(token)


def read(node: Any, node_type: str) -> descriptor.Vdu:
    """Returns the VDU of a node template, with the policies that target it.

    Inputs get no value here, even where the VNFD has a default, because
    heat-translator turns them into parameters of the template.

    :param node: a NodeTemplate of tosca-parser
    :param node_type: the type of VDU from which the type of the node is
        derived, or the same type
    :raises InvalidVnfd: when the reservation is not valid
    """
    template = {**node.templates[node.name], 'type': node_type}
    flavor = (template.get('properties') or {}).get('flavor')
    if isinstance(flavor, dict):
        # Heat will know the name; here any name does.
        template['properties'] = {'flavor': str(flavor.get(_INPUT))}
    topology = {'inputs': {name: {} for name in _inputs(template)},
                'node_templates': {node.name: template},
                'policies': policies.targeting(node)}
    return descriptor.read_vdus(
        {'topology_template': topology}, where='VNFD',
        request=_ASKED.get().for_vdu(node.name))[node.name]


def has_reservation(node: Any) -> bool:
    """Tells whether a node template, or a policy on it, seems to reserve."""
    return bool(policies.targeting(node)) or any(
        statements.is_like_ours(key)
        for key in _keys(node.templates[node.name]))


def _keys(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _keys(item)


def _inputs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get(_INPUT), str):
            yield value[_INPUT]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _inputs(item)


def parameters(value: Any) -> Any:
    """Returns a value of TOSCA for Heat, with parameters for inputs."""
    if isinstance(value, dict):
        if len(value) == 1 and _INPUT in value:
            return {'get_param': value[_INPUT]}
        return {key: parameters(item) for key, item in value.items()}
    if isinstance(value, list):
        return [parameters(item) for item in value]
    return value
