# SPDX-License-Identifier: Apache-2.0

"""Paste middleware that answers 400 to reservations that make no sense.

Nova has no plug-in point for the schema of scheduler hints, and its
validators of extra specs see one key at a time.  The scheduler refuses the
same requests again: without this middleware the API accepts such a request,
and the server ends in ERROR.
"""

from collections.abc import Mapping
import json
import re
from typing import Any

from nova.api.openstack import common
from nova.api.openstack import wsgi
import nova.conf
from nova import exception as nova_exception
from nova.image import glance
from nova import objects
from oslo_log import log as logging
import webob
import webob.dec
import webob.exc

from nova_rt.rules import exception
from nova_rt.rules import mask
from nova_rt.rules import report
from nova_rt.rules import reservation
from nova_rt.rules import workload
from nova_rt.services import announce
from nova_rt.services.api import policies
from nova_rt.services.api import quotas
from nova_rt.services.api import resources
from nova_rt.services.compute import admission
from nova_rt.services.compute import request
from nova_rt.services.compute import vcpus
from nova_rt.services import conf as rt_conf
from nova_rt.services import events
from nova_rt.services import meditation
from nova_rt.services import selfcheck
from nova_rt.services import servers

CONF = nova.conf.CONF
LOG = logging.getLogger(__name__)

_HINTS = ('os:scheduler_hints', 'OS-SCH-HNT:scheduler_hints')
# Before microversion 2.103, servers with volumes may be created by a path of
# their own.
_SERVERS = re.compile(r'(/[^/]+)?/(servers|os-volumes_boot)/?')
_SPECS = re.compile(
    r'(?:/[^/]+)?/flavors/(?P<flavor>[^/]+)/os-extra_specs'
    r'(?:/(?P<key>[^/]+))?/?')
_ACTION = re.compile(r'(?:/[^/]+)?/servers/(?P<server>[^/]+)/action/?')
#: Prefixes of the extra specs that may matter to a reservation.
_CONCERNING = ('hw:', 'resources', 'trait')


class ReservationHints:
    """Checks requests that create, resize or rebuild a server.

    Requests that change the extra specs of a flavor are checked, too.
    Requests to read reservations are answered (``services.api.resources``).
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        rt_conf.register_opts(CONF)
        self._rules = policies.Enforcer(CONF)
        self._resources = resources.Resources(self._rules)
        selfcheck.verify(selfcheck.TESTED_BY_API)
        quotas.install()
        announce.log_version('reservation_hints of nova-api')
        meditation.register('nova-api')

    @webob.dec.wsgify(RequestClass=wsgi.Request)
    def __call__(self, req: wsgi.Request) -> Any:
        answer = self._answer(req)
        if answer is not None:
            return answer
        try:
            self._check(req)
        except (exception.InvalidReservation,
                exception.InvalidWorkload) as error:
            LOG.info('CPU reservation refused: %s', error)
            events.refused(events.API, report.REQUEST, str(error))
            return wsgi.Fault(webob.exc.HTTPBadRequest(
                explanation=str(error)))
        except nova_exception.PolicyNotAuthorized as error:
            events.refused(events.API, events.POLICY, error.format_message())
            return wsgi.Fault(webob.exc.HTTPForbidden(
                explanation=error.format_message()))
        return req.get_response(self._app)

    def _answer(self, req: wsgi.Request) -> Any:
        """Returns the answer of nova-rt; None if Nova should answer."""
        try:
            return self._resources.answer(req)
        except UnicodeDecodeError:
            return None  # The path is not one of nova-rt.

    def _check(self, req: wsgi.Request) -> None:
        if req.method not in ('POST', 'PUT'):
            return
        try:
            path = req.path_info
        except UnicodeDecodeError:
            return  # The path is not one of those that are checked.
        if match := _SPECS.fullmatch(path):
            _check_extra_specs(req, match['flavor'])
        elif req.method == 'POST' and _SERVERS.fullmatch(path):
            _check_server(req, self._rules)
        elif req.method == 'POST' and (match := _ACTION.fullmatch(path)):
            _check_action(req, match['server'])


def _check_server(req: wsgi.Request, rules: policies.Enforcer) -> None:
    body = _body(req)
    server = _mapping(body, 'server')
    # If a request has hints under both keys, Nova reads only the first.
    hints = _mapping(body, next((key for key in _HINTS if key in body), ''))
    flavor = _flavor(req, server.get('flavorRef'))
    workload.from_flavor_and_hints(flavor.extra_specs if flavor else {},
                                   hints)
    if flavor is None:
        # Nova refuses the flavor; only the hints can be checked here.
        reservation.hint_values(hints)
        return
    wanted = reservation.from_flavor_and_hints(
        flavor.extra_specs, hints, rt_conf.limits(CONF))
    if wanted is None:
        return
    if reservation.hint_values(hints):
        _check_rules(req, rules, flavor, wanted)
    vcpus.split(flavor)
    admission.check(flavor, _image(req, server.get('imageRef')))


def _check_rules(req: wsgi.Request, rules: policies.Enforcer, flavor: Any,
                 wanted: reservation.Reservation) -> None:
    """Refuses a reservation in hints that the policy file does not allow.

    :raises PolicyNotAuthorized: when the file does not allow the reservation
    """
    context = req.environ['nova.context']
    rules.check(context, policies.HINT)
    specs = flavor.extra_specs
    own = (reservation.from_flavor_and_hints(specs)
           if len(reservation.flavor_values(specs)) == len(reservation.KEYS)
           else None)
    if own is None or wanted.bandwidth > own.bandwidth:
        rules.check(context, policies.RAISE)


def _check_action(req: wsgi.Request, uuid: str) -> None:
    """Checks a server with the flavor or image that an action gives it."""
    body = _body(req)
    flavor = _flavor(req, _mapping(body, 'resize').get('flavorRef'))
    image_ref = _mapping(body, 'rebuild').get('imageRef')
    if flavor is None and not image_ref:
        return
    server = servers.find(req.environ['nova.context'], uuid)
    if server is None:
        return
    try:
        hints = request.hints_of(server)
    except exception.RTError as error:
        # The error concerns a note that nova-compute stored, which is not
        # for tenants to see.
        LOG.warning('%s', error, instance=server)
        return
    if flavor is not None:
        _check_resize(server, flavor, hints)
    elif not request.is_plain(server):
        admission.check_image(server.flavor, _image(req, image_ref))


def _check_resize(server: Any, flavor: Any, hints: Mapping[str, Any]
                  ) -> None:
    specs, limits = flavor.extra_specs, rt_conf.limits(CONF)
    if reservation.from_flavor_and_hints(
            specs, reservation.carried_hints(specs, hints, limits),
            limits) is not None:
        vcpus.split(flavor)
        admission.check(flavor, server.image_meta)


def _check_extra_specs(req: wsgi.Request, flavor_id: str) -> None:
    """Checks all extra specs that a flavor would then have.

    A request may set the runtime, the period or the mask alone: another
    request may set the others later.
    """
    body = _body(req)
    added = _mapping(body, 'extra_specs') or body
    workload.from_flavor_and_hints(added)
    flavor = any(key.startswith(_CONCERNING) for key in added) and (
        _flavor(req, flavor_id))
    if not flavor:
        return
    specs = {**flavor.extra_specs, **added}
    if reservation.MASK_KEY in added:
        mask.unreserved(added, flavor.vcpus)
    if len(reservation.flavor_values(specs)) == len(reservation.KEYS):
        reservation.from_flavor_and_hints(specs, None, rt_conf.limits(CONF))
        flavor.extra_specs = {key: str(specs[key]) for key in specs}
        admission.check(flavor)


def _body(req: wsgi.Request) -> Mapping[str, Any]:
    """Returns the JSON object of a request; {} if Nova will refuse it."""
    try:
        body = json.loads(req.body)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _mapping(body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = body.get(key)
    return value if isinstance(value, dict) else {}


def _flavor(req: wsgi.Request, flavor_ref: Any) -> Any:
    """Returns a flavor by id or link; None if the flavor does not exist."""
    if not isinstance(flavor_ref, str | int):
        return None
    try:
        return objects.Flavor.get_by_flavor_id(
            req.environ['nova.context'],
            common.get_id_from_href(str(flavor_ref)), read_deleted='no')
    except nova_exception.FlavorNotFound:
        return None


def _image(req: wsgi.Request, image_ref: Any) -> Any:
    """Returns an objects.ImageMeta; None if Nova will refuse the image."""
    if not isinstance(image_ref, str) or not image_ref:
        return None
    try:
        return admission.image(
            glance.API().get(req.environ['nova.context'], image_ref))
    except (nova_exception.NovaException, ValueError):
        return None


def filter_factory(global_conf: Any, **local_conf: Any) -> Any:
    """Returns the middleware, as ``paste.filter_factory`` needs it."""
    return ReservationHints
