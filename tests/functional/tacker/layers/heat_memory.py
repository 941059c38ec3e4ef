# SPDX-License-Identifier: Apache-2.0

"""A Heat in memory, behind the HTTP client of Tacker.

Heat's own code reads templates, checks templates, and decides what becomes of
each resource: members of scaling groups, properties, and whether a change of a
property replaces the server.  This module stores stacks and servers.  A test
can order any step to fail: each request that changes something, and each
server that is made, changed or deleted.
"""

import collections
import dataclasses
import datetime
import json
import re
import types
from typing import Any
from unittest import mock
import uuid

from heat.common import exception as heat_exception
from heat.common import grouputils
from heat.common import template_format
from heat.engine import constraints
from heat.engine import resource as heat_resource
from heat.engine.resources.openstack.heat import autoscaling_group
from heat.engine.resources.openstack.nova import server as heat_server
from heat.engine import template as heat_template
import heat_bodies
from tacker.sol_refactored.common import exceptions as sol_ex

_FLAVOR = 'OS::Nova::Flavor'
#: Properties that are compared; a change of some of them replaces the server.
_PROPERTIES = ('flavor', 'image', 'networks', 'scheduler_hints')
_PATH = re.compile(r'stacks(?:/([^/?]+))?(?:/([0-9a-f-]{36}))?'
                   r'(?:/(resources|template|files))?(?:/([^/?]+))?')


class Failed(Exception):
    """A step failed, as it was ordered to."""


@dataclasses.dataclass
class Resource:
    name: str
    kind: str
    created: str
    properties: dict[str, Any] = dataclasses.field(default_factory=dict)
    child: 'Stack | None' = None
    unhealthy: bool = False
    id: str = dataclasses.field(default_factory=lambda: str(uuid.uuid4()))


@dataclasses.dataclass
class Stack:
    name: str
    files: dict[str, str] = dataclasses.field(default_factory=dict)
    template: Any = None
    parameters: dict[str, Any] = dataclasses.field(default_factory=dict)
    resources: dict[str, Resource] = dataclasses.field(default_factory=dict)
    status: tuple[str, str] = ('', '')
    id: str = dataclasses.field(default_factory=lambda: str(uuid.uuid4()))

    def everything(self):
        """Yields its resources, and then those of nested stacks.

        Each with its stack and the name of the resource above it.
        """
        waiting = collections.deque([(self, None)])
        while waiting:
            stack, above = waiting.popleft()
            for one in stack.resources.values():
                yield one, stack, above
                if one.child:
                    waiting.append((one.child, one.name))


def patched():
    """Replaces the parts of Heat that ask other services."""
    return (
        mock.patch.object(heat_server.Server, 'validate', return_value=None),
        mock.patch.object(constraints.CustomConstraint, 'validate',
                          return_value=None),
        mock.patch.object(heat_resource.Resource, 'is_service_available',
                          return_value=(True, None)),
        mock.patch.object(grouputils, 'get_member_definitions',
                          return_value=[]))


class Heat:
    """All stacks; *flavors* are extra specs by the name of a flavor."""

    def __init__(self, flavors):
        self.stacks, self.gone = {}, set()
        self.flavors = dict(flavors)
        self.steps, self.fail_at = [], None
        self._clock = datetime.datetime(2026, 1, 1)

    def order_failure(self, number):
        """Lets a later step fail: 1 is the next step; None: no step fails."""
        self.steps, self.fail_at = [], number

    def _step(self, what):
        self.steps.append(what)
        if len(self.steps) == self.fail_at:
            raise Failed(what)

    def servers(self):
        return [one for stack in self.stacks.values()
                for one, _, _ in stack.everything()
                if one.kind == 'OS::Nova::Server']

    # What resources become.

    def _real(self, stack):
        return heat_bodies._stack(stack.template, stack.files,
                                  stack.parameters)

    def _converge(self, stack):
        # Its resources have only a weak reference to the stack.
        real = self._real(stack)
        wanted = dict(real.items())
        for name, one in sorted(wanted.items(), key=_flavors_first):
            self._bring(stack, name, one)
        for name in stack.resources.keys() - wanted.keys():
            self._delete(stack, name)

    def _bring(self, stack, name, one):
        if one.type() == _FLAVOR:
            self.flavors[name] = one.properties['extra_specs']
        if isinstance(one, heat_server.Server):
            self._bring_server(stack, name, one)
            return
        have = stack.resources.setdefault(name, self._new(name, one.type()))
        if not hasattr(one, 'child_template'):
            return
        have.child = have.child or Stack(f'{stack.name}-{name}', stack.files)
        have.child.files = stack.files
        have.child.template = _child_template(one, have.child)
        have.child.parameters = one.child_params() or {}
        self._converge(have.child)

    def _bring_server(self, stack, name, one):
        one.reparse()
        wanted = {key: one.properties[key] for key in _PROPERTIES}
        have = stack.resources.get(name)
        changed = {key for key in _PROPERTIES
                   if have and have.properties[key] != wanted[key]}
        schema = heat_server.Server.properties_schema
        if have and not have.unhealthy and not changed:
            return
        if have and not have.unhealthy and all(
                schema[key].update_allowed for key in changed):
            self._step(f'change {name}')
            have.properties = wanted
            return
        self._step(f'make {name}')
        made = self._new(name, one.type(), wanted)
        if have:
            self._step(f'delete the old {name}')
        stack.resources[name] = made

    def _new(self, name, kind, properties=None):
        self._clock += datetime.timedelta(seconds=1)
        return Resource(name, kind, self._clock.isoformat() + 'Z',
                        properties or {})

    def _delete(self, stack, name):
        one = stack.resources[name]
        if one.child:
            for inner in list(one.child.resources):
                self._delete(one.child, inner)
        elif one.kind == 'OS::Nova::Server':
            self._step(f'delete {name}')
        del stack.resources[name]

    # Its API.

    def do_request(self, path, method, expected_status=(), body=None, **_):
        try:
            status, answer = self._answer(path, method, body)
        except Failed as error:
            status, answer = 500, f'ordered: {error}'
        if status not in expected_status:
            raise sol_ex.SolException(sol_status=status,
                                      sol_detail=str(answer))
        return types.SimpleNamespace(status_code=status), answer

    def _answer(self, path, method, body):
        name, stack_id, part, resource = _PATH.match(path).groups()
        stack = self._find(name, stack_id)
        if method == 'POST':
            return self._create(body)
        if stack_id in self.gone and method == 'GET' and not part:
            return 200, self._shown(Stack(
                name, id=stack_id, status=('DELETE_COMPLETE', '')), part)
        if stack is None:
            return 404, 'there is no such stack'
        if method == 'GET':
            return 200, self._shown(stack, part)
        if part == 'resources':
            self._step('mark unhealthy')
            stack.resources[resource].unhealthy = True
            return 200, None
        self._step(f'request: {method}')
        if method == 'DELETE':
            for inner in list(stack.resources):
                self._delete(stack, inner)
            del self.stacks[stack.id]
            self.gone.add(stack.id)
            return 204, None
        return self._update(stack, body, method)

    def _find(self, name, stack_id):
        known = {**self.stacks, **{
            one.child.id: one.child for stack in self.stacks.values()
            for one, _, _ in stack.everything() if one.child}}
        if stack_id:
            return known.get(stack_id)
        return next((stack for stack in known.values()
                     if stack.name == name), None)

    def _create(self, body):
        self._step('request: POST')
        stack = Stack(body['stack_name'])
        _take(stack, body)
        if wrong := self._wrong(stack):
            return 400, wrong
        self.stacks[stack.id] = stack
        self._run(stack, 'CREATE')
        return 201, {'stack': {'id': stack.id}}

    def _update(self, stack, body, method):
        """PATCH keeps the keys that it does not name; PUT keeps nothing."""
        draft = Stack(stack.name)
        if method == 'PATCH':
            draft = dataclasses.replace(stack)
        _take(draft, body)
        if stack.id in self.stacks and (wrong := self._wrong(draft)):
            return 400, wrong
        stack.template, stack.files, stack.parameters = (
            draft.template, draft.files, draft.parameters)
        self._run(stack, 'UPDATE')
        return 202, None

    def _wrong(self, stack):
        try:
            self._real(stack).validate()
        except heat_exception.StackValidationFailed as error:
            return str(error)
        return None

    def _run(self, stack, action):
        try:
            self._converge(stack)
            stack.status = (f'{action}_COMPLETE', '')
        except Failed as error:
            stack.status = (f'{action}_FAILED', f'ordered: {error}')

    def _shown(self, stack, part):
        if part == 'template':
            return json.loads(json.dumps(stack.template))
        if part == 'files':
            return dict(stack.files)
        if part == 'resources':
            return {'resources': [
                _listed(*each) for each in stack.everything()]}
        status, reason = stack.status
        return {'stack': {
            'id': stack.id, 'stack_status': status,
            'stack_status_reason': reason, 'parameters': {
                key: json.dumps(value)
                for key, value in stack.parameters.items()}}}


def _flavors_first(item):
    return item[1].type() != _FLAVOR


def _child_template(one, child):
    """Returns the template of the nested stack of a resource."""
    if not isinstance(one, autoscaling_group.AutoScalingResourceGroup):
        template = one.child_template()
        return getattr(template, 't', template)
    # Unhealthy members go first, and a change affects all members.
    members = sorted(child.resources.values(), key=lambda member: (
        not member.unhealthy, member.created))
    known = heat_template.Template(child.template).resource_definitions(
        None) if child.template else {}
    size = one.properties['desired_capacity']
    with mock.patch.object(
            grouputils, 'get_member_definitions', lambda *_, **__: [
                (member.name, known[member.name]) for member in members
                if member.name in known]):
        template = dict(one._create_template(size, size).t)
    template.pop('outputs', None)
    return template


def _take(stack, body):
    template = body.get('template', stack.template)
    stack.template = (template_format.parse(template)
                      if isinstance(template, str) else template)
    stack.files = {**stack.files, **body.get('files', {})}
    stack.parameters = {**stack.parameters, **body.get('parameters', {})}


def _listed(one, stack, above):
    shown = {'resource_name': one.name, 'resource_type': one.kind,
             'physical_resource_id': one.id, 'creation_time': one.created,
             'links': [{'rel': 'stack',
                        'href': f'http://heat/stacks/{stack.name}/{stack.id}'
                        }]}
    return {**shown, 'parent_resource': above} if above else shown
