# SPDX-License-Identifier: Apache-2.0

"""From a node template of tosca-parser to what its VDU asks for."""

from collections.abc import Iterator
import contextlib
import contextvars
from typing import Any

from tacker_rt.heat import policies
from tacker_rt import request as tacker_request
from tacker_rt.vnfd import descriptor
from tacker_rt.vnfd import statements

_INPUT = 'get_input'
#: heat-translator makes the objects that read, and hands nothing on to them.
_ASKED = contextvars.ContextVar('asked', default=tacker_request.Request())


@contextlib.contextmanager
def asked(request: tacker_request.Request) -> Iterator[None]:
    """What is read within the block is read with a request for the VNF."""
    token = _ASKED.set(request)
    try:
        yield
    finally:
        _ASKED.reset(token)


def read(node: Any, node_type: str) -> descriptor.Vdu:
    """The VDU of a node template, with the policies that target it.

    Inputs are left open, whatever their defaults: heat-translator makes
    parameters of them.

    :param node: a NodeTemplate of tosca-parser
    :param node_type: the type that its own one is derived from, if it is
        not the same
    :raises InvalidVnfd: the reservation is wrong
    """
    template = {**node.templates[node.name], 'type': node_type}
    flavor = (template.get('properties') or {}).get('flavor')
    if isinstance(flavor, dict):
        # A name that Heat will know is a name.
        template['properties'] = {'flavor': str(flavor.get(_INPUT))}
    topology = {'inputs': {name: {} for name in _inputs(template)},
                'node_templates': {node.name: template},
                'policies': policies.of_node(node)}
    return descriptor.read_vdus(
        {'topology_template': topology}, where='VNFD',
        request=_ASKED.get().of_vdu(node.name))[node.name]


def has_reservation(node: Any) -> bool:
    """Does a node template, or a policy on it, seem to have one?"""
    return bool(policies.of_node(node)) or any(
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
    """A value of TOSCA for Heat: inputs become parameters, at any depth."""
    if isinstance(value, dict):
        if len(value) == 1 and _INPUT in value:
            return {'get_param': value[_INPUT]}
        return {key: parameters(item) for key, item in value.items()}
    if isinstance(value, list):
        return [parameters(item) for item in value]
    return value
