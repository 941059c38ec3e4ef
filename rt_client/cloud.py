# SPDX-License-Identifier: Apache-2.0

"""Asks Nova and Placement, and returns plain data.

Each method makes one request, or one for each page of a list.
"""

from collections.abc import Iterator, Mapping
import dataclasses
import http
from typing import Any
from urllib import parse

from openstack import exceptions as sdk_exceptions
from osc_lib import exceptions

from nova_rt.rules import hostmap
from nova_rt.rules import reservation

#: Placement answers with the provider summaries that are read here.
_PLACEMENT = '1.36'
#: A ppm of a second.
_NS_PER_PPM = 1_000
_NO_API = (
    'The compute API of this cloud does not answer to nova-rt: nova-api needs '
    'the filter reservation_hints of nova-rt 0.1 or newer in its '
    'api-paste.ini.')


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A compute node.

    :ivar provider: its uuid, also in Placement
    :ivar published: its map; None without nova-rt on the host, or where this
        client cannot read the map
    """

    name: str
    node: str
    provider: str
    published: hostmap.HostMap | None


@dataclasses.dataclass(frozen=True, slots=True)
class Claim:
    """The pCPUs that a server has at a provider.

    :ivar soft: whether the reservation is soft, see nova_rt.rules.soft
    """

    provider: str
    pcpus: tuple[int, ...]
    reservation: reservation.Reservation
    soft: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A server with a reservation.

    :ivar host: '' for users who may not see it
    :ivar claims: empty for users who may not see them; two while the server
        moves
    """

    id: str
    name: str
    project_id: str
    vcpus: int
    state: str
    reservation: reservation.Reservation
    host: str = ''
    claims: tuple[Claim, ...] = ()


class Cloud:
    """Nova and Placement, as the user of the client may use them.

    :param compute: an adapter of openstacksdk
    :param placement: another adapter
    """

    def __init__(self, compute: Any, placement: Any) -> None:
        self._compute = compute
        self._placement = placement

    def hosts(self, name: str | None = None) -> list[Host]:
        """Returns all compute nodes, or those of one host, by name.

        :raises CommandError: when the user may not see them
        """
        body = self._rt('hosts', {'host': name} if name else {})
        return [Host(each['host'], each['node'], each['provider'],
                     hostmap.from_stats(each['stats']))
                for each in body['hosts']]

    def servers(self, **asked: str) -> Iterator[Server]:
        """Yields the servers with a reservation.

        :param asked: host, uuid, project_id, all_projects='1'; without any
            of them the servers of the user's own project
        :raises CommandError: when the user may not see them
        """
        while True:
            body = self._rt('servers', asked)
            yield from map(_server, body['servers'])
            if not body['next']:
                return
            asked = {**asked, 'marker': body['next']}

    def services(self) -> dict[str, tuple[str, str]]:
        """Returns the state and the status of nova-compute by host."""
        body = self._get(self._compute, '/os-services?binary=nova-compute')
        return {each['host']: (each['state'], each['status'])
                for each in body['services']}

    def usages(self, project_id: str) -> Mapping[str, int]:
        """Returns how much of each resource class a project uses."""
        body = self._get(self._placement, '/usages?' + parse.urlencode(
            {'project_id': project_id}), microversion=_PLACEMENT)
        return dict(body['usages'])

    def candidates(self, amounts: Mapping[str, int], required: str
                   ) -> dict[str, dict[str, dict[str, int]]]:
        """Returns the providers that have room for *amounts*.

        :param required: traits, with commas
        :returns: the capacity and the used amount, by provider and class
        """
        body = self._get(self._placement, '/allocation_candidates?'
                         + parse.urlencode({
                             'resources': _resources(amounts),
                             'required': required}), microversion=_PLACEMENT)
        return {provider: summary['resources'] for provider, summary
                in body['provider_summaries'].items()}

    def having(self, amounts: Mapping[str, int], required: str = ''
               ) -> frozenset[str]:
        """Returns the providers that have room for *amounts*, by uuid.

        :param amounts: {} for providers with any room
        :param required: traits, with commas; '' for any traits
        """
        query = {key: text for key, text in (
            ('resources', _resources(amounts)), ('required', required))
            if text}
        body = self._get(
            self._placement, '/resource_providers?' + parse.urlencode(query),
            microversion=_PLACEMENT)
        return frozenset(each['uuid'] for each in body['resource_providers'])

    def flavor(self, name: str) -> Any:
        """Returns a flavor with its extra specs, by name or id.

        :raises CommandError: when there is no such flavor
        """
        flavor = self._compute.find_flavor(name, get_extra_specs=True)
        if flavor is None:
            raise exceptions.CommandError(f'There is no flavor {name}.')
        return flavor

    def make_flavor(self, specs: Mapping[str, str], **properties: Any) -> Any:
        """Creates a flavor with extra specs.

        The flavor is deleted again if Nova refuses the extra specs.
        """
        made = self._compute.create_flavor(**properties)
        try:
            self._compute.create_flavor_extra_specs(made, dict(specs))
        except sdk_exceptions.SDKException:
            self._compute.delete_flavor(made)
            raise
        return made

    def server(self, name: str) -> Any:
        """Returns a server as Nova shows it, by name or id.

        :raises CommandError: when there is no such server
        """
        try:
            server = self._compute.find_server(name, all_projects=True)
        except sdk_exceptions.ForbiddenException:
            server = self._compute.find_server(name)
        if server is None:
            raise exceptions.CommandError(f'There is no server {name}.')
        # The first version that shows hints.
        return self._get(self._compute, f'/servers/{server.id}',
                         microversion='2.100')['server']

    def use(self, server_id: str) -> int | None:
        """Returns the ppm of a pCPU that a server used since it started.

        :returns: the sum over the vCPUs; None if the user may not read the
            sum, if the server does not run, or if its host does not report the
            sum
        """
        answer = self._compute.get(f'/servers/{server_id}/diagnostics',
                                   microversion='2.48')
        if answer.status_code != http.HTTPStatus.OK:
            return None
        diagnostics = answer.json()
        times = [cpu['time'] for cpu in diagnostics['cpu_details']]
        if not times or None in times or not diagnostics['uptime']:
            return None
        used: int = sum(times) // (diagnostics['uptime'] * _NS_PER_PPM)
        return used

    def _rt(self, resource: str, query: Mapping[str, str]) -> Any:
        text = parse.urlencode(query)
        try:
            return self._get(self._compute, f'/nova-rt/{resource}?{text}')
        except sdk_exceptions.NotFoundException:
            raise exceptions.CommandError(_NO_API) from None

    @staticmethod
    def _get(adapter: Any, path: str, **options: Any) -> Any:
        answer = adapter.get(path, **options)
        try:
            sdk_exceptions.raise_from_response(answer)
        except sdk_exceptions.ForbiddenException as error:
            raise exceptions.CommandError(
                f'You may not do this: {error.details or error}') from None
        return answer.json()


def _resources(amounts: Mapping[str, int]) -> str:
    return ','.join(f'{name}:{amount}' for name, amount in amounts.items())


def _server(answer: Mapping[str, Any]) -> Server:
    return Server(
        answer['id'], answer['name'], answer['project_id'], answer['vcpus'],
        answer['state'], _reservation(answer), answer.get('host', ''), tuple(
            Claim(each['provider'], tuple(each['pcpus']), _reservation(each),
                  each.get('soft', False))
            for each in answer.get('claims', ())))


def _reservation(answer: Mapping[str, Any]) -> reservation.Reservation:
    return reservation.Reservation(answer['runtime_us'], answer['period_us'])
