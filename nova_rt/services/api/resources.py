# SPDX-License-Identifier: Apache-2.0

"""Answers to GET requests below ``/nova-rt`` of the compute API.

Nova's API shows neither the map of a host nor the claim of a server, and has
no extension point for another resource.  The answers are for ``openstack
rt``.
"""

from collections.abc import Callable, Mapping
import json
import re
from typing import Any

from nova.api.openstack import wsgi
from nova import exception as nova_exception
import webob
import webob.exc

from nova_rt.services.api import policies
from nova_rt.services.api import reading

_PATH = re.compile(r'(?:/[^/]+)?/nova-rt/(?P<name>hosts|servers)/?')
#: How many servers one page has at most, with a reservation or without.
_PAGE = 1000


class Resources:
    """Reads what the user of a request may see."""

    def __init__(self, rules: policies.Enforcer) -> None:
        self._rules = rules
        self._answers: Mapping[
            str, Callable[[wsgi.Request], dict[str, Any]]] = {
                'hosts': self._hosts, 'servers': self._servers}

    def answer(self, req: wsgi.Request) -> Any:
        """Returns the answer; None if the request is for Nova."""
        match = _PATH.fullmatch(req.path_info)
        if req.method != 'GET' or match is None:
            return None
        try:
            body = self._answers[match['name']](req)
        except nova_exception.Forbidden as error:
            return wsgi.Fault(webob.exc.HTTPForbidden(
                explanation=error.format_message()))
        except nova_exception.MarkerNotFound as error:
            return wsgi.Fault(webob.exc.HTTPBadRequest(
                explanation=error.format_message()))
        return webob.Response(
            json.dumps(body, separators=(',', ':')), charset='utf-8',
            content_type='application/json')

    def _hosts(self, req: wsgi.Request) -> dict[str, Any]:
        context = req.environ['nova.context']
        self._rules.check(context, policies.HOSTS)
        page = reading.hosts(context, req.GET.get('host'))
        return {'hosts': page.items, 'unreachable_cells': page.unreachable}

    def _servers(self, req: wsgi.Request) -> dict[str, Any]:
        context = req.environ['nova.context']
        places = self._rules.allows(context, policies.PLACES)
        page = reading.servers(
            context, self._filters(req, places), _PAGE,
            req.GET.get('marker'))
        items = page.items if places else list(map(_own, page.items))
        return {'servers': items, 'unreachable_cells': page.unreachable,
                'next': page.last}

    def _filters(self, req: wsgi.Request, places: bool) -> dict[str, Any]:
        """Returns the project whose servers are requested.

        :raises PolicyNotAuthorized: when the user may not see these servers
        """
        context = req.environ['nova.context']
        filters = {key: req.GET[key] for key in ('host', 'uuid')
                   if key in req.GET}
        if 'host' in filters:
            self._rules.check(context, policies.PLACES)
        project = req.GET.get('project_id', context.project_id)
        everywhere = req.GET.get('all_projects') == '1'
        if everywhere or project != context.project_id:
            self._rules.check(context, policies.EVERYWHERE)
        else:
            self._rules.check(context, policies.SERVERS)
        if not everywhere:
            filters['project_id'] = project
        return filters


def _own(server: dict[str, Any]) -> dict[str, Any]:
    """Returns a server as its owner may see it, without hosts and pCPUs."""
    return {key: value for key, value in server.items()
            if key not in ('host', 'claims')}
