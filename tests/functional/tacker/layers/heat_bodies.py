# SPDX-License-Identifier: Apache-2.0

"""Runs in Heat: the requests to Nova for each of many stacks.

JSON in: a list of {template, files, parameters}.  JSON out: for each, its
servers as {name, body, flavor}, where *body* is the request to create the
server that novaclient made and *flavor* the properties of an
OS::Nova::Flavor of the template, if the server uses one.
"""

from unittest import mock
import uuid

from heat.common import context
from heat.common import grouputils
from heat.common import template_format
from heat.engine.clients.os import nova as heat_nova
from heat.engine import environment
from heat.engine import resources
from heat.engine.resources.openstack.nova import server as heat_server
from heat.engine import stack as heat_stack
from heat.engine import stk_defn
from heat.engine import template as heat_template
from heat.engine import translation
from novaclient import client as nova_client
from oslo_config import cfg
import serving

_FLAVOR = 'OS::Nova::Flavor'
_FLAVOR_PROPERTIES = ('vcpus', 'ram', 'disk', 'extra_specs')
#: The microversion of Heat's client, see its get_max_microversion.
_MICROVERSION = '2.96'


class _Sent(Exception):
    """An exception that carries the body of a request."""


def _send(url, body=None, **kwargs):
    raise _Sent(body)


def _client():
    client = nova_client.Client(
        _MICROVERSION, session=mock.Mock(), direct_use=False)
    client.client.post = _send
    return client


def _stack(template, files, parameters):
    environment_of = environment.Environment({'parameters': parameters})
    return heat_stack.Stack(
        context.RequestContext(project_id='p', user_id='u'), 's',
        heat_template.Template(template, files=files, env=environment_of),
        convergence=False)


def _servers(stack, files):
    for one in stack.values():
        if isinstance(one, heat_server.Server):
            yield one
        elif hasattr(one, 'child_template'):
            # Nested templates and scaling groups alike.
            parameters = one.child_params() or {}
            child = one.child_template()
            yield from _servers(_stack(
                getattr(child, 't', child), files, parameters), files)


def _serialize(metadata):
    return heat_nova.NovaClientPlugin.meta_serialize(None, metadata)


def _body(server):
    client = _client()
    with (mock.patch.object(heat_server.Server, 'client',
                            return_value=client),
          mock.patch.object(heat_server.Server, 'client_plugin',
                            return_value=mock.Mock(
                                build_userdata=lambda *args, **kwargs: '',
                                meta_serialize=_serialize)),
          mock.patch.object(heat_server.Server, 'metadata_get',
                            return_value={}),
          mock.patch.object(heat_server.Server, '_server_name',
                            return_value=server.name)):
        # Heat does this just before; here, names become ids.
        server.reparse()
        try:
            server.handle_create()
        except _Sent as sent:
            return sent.args[0]
    raise AssertionError('no request was sent')


def examine(case):
    files = case['files']
    stack = _stack(template_format.parse(case['template']), files,
                   case['parameters'])
    flavors = {name: {key: one.properties[key] for key in _FLAVOR_PROPERTIES}
               for name, one in stack.items() if one.type() == _FLAVOR}
    return [{'name': server.name, 'body': _body(server),
             'flavor': flavors.get(server.properties['flavor'])}
            for server in _servers(stack, files)]


def _id(name):
    """Returns an id for a name, because there is no cloud to ask."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def _find(value, plugin, finder, *args, **kwargs):
    return _id(value) if value and 'image' in finder else value


def _reference(resource):
    """Returns a name or an id, because nothing has been created yet."""
    if resource.t.resource_type == _FLAVOR:
        return resource.name
    return _id(resource.name)


def main():
    cfg.CONF([], project='heat', default_config_files=[],
             default_config_dirs=[])
    resources.initialise()
    with (mock.patch.object(translation, 'resolve_and_find', _find),
          mock.patch.object(stk_defn.ResourceProxy, 'FnGetRefId', _reference),
          mock.patch.object(grouputils, 'get_member_definitions',
                            return_value=[])):
        serving.serve(examine)


if __name__ == '__main__':
    main()
