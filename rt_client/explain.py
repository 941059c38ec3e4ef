# SPDX-License-Identifier: Apache-2.0

"""``openstack rt explain``: which rule refuses a server, on which host.

A user who may not see hosts reads what the server asks for and what Nova told
its owner.
"""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from osc_lib import exceptions

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.rules import words
from rt_client import base
from rt_client import cloud as rt_cloud
from rt_client import columns
from rt_client import wish as rt_wish

_COLUMNS = ('Where', 'Room', 'Reason')


class Explain(base.Lister):
    """Say why no host takes a server, with the rule that refuses it"""

    need_sort_by_cliff = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('server', metavar='<server>',
                            help='Name or ID of the server')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        server = self.cloud.server(parsed_args.server)
        wish, told = _find_wish(server)
        rows: list[base.Row] = [('server', server['status'], columns.Lines(
            [*told, *_fault(server)]))]
        if wish is None:
            return _COLUMNS, rows
        try:
            hosts = self.cloud.hosts()
        except exceptions.CommandError:
            return _COLUMNS, rows  # The user may not see hosts.
        return _COLUMNS, rows + list(self._hosts(hosts, wish))

    def _hosts(self, hosts: list[rt_cloud.Host], wish: rt_wish.Wish
               ) -> Iterator[base.Row]:
        having = {f'{amount} free {name}': self.cloud.having(
            {name: amount}) for name, amount in wish.amounts.items()}
        having[f'the trait {hostmap.TRAIT}'] = self.cloud.having(
            {}, hostmap.TRAIT)
        for host in hosts:
            wrong = list(_refusals(host, wish, having))
            unknown = [rt_wish.CELLS] * wish.has_topology
            yield (host.name, 'no' if wrong else 'yes',
                   columns.Lines(wrong or unknown))


def _refusals(host: rt_cloud.Host, wish: rt_wish.Wish,
              having: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yields each reason why a host does not take a server now."""
    published = host.published
    if nothing := rt_wish.offers_nothing(published):
        yield nothing
        return
    assert published is not None  # noqa: S101 - or it offered nothing.
    yield from rt_wish.refusals(published, wish)
    for needed, providers in having.items():
        if host.provider not in providers:
            yield f'Placement: the host does not have {needed}'


def _find_wish(server: Mapping[str, Any]
               ) -> tuple[rt_wish.Wish | None, list[str]]:
    """Returns what a server asks for, and a sentence on it."""
    flavor = server['flavor']
    specs = flavor.get('extra_specs') or {}
    hints = server.get('scheduler_hints') or {}
    try:
        wanted = reservation.from_flavor_and_hints(
            specs, reservation.stored_hints(hints))
        wish = None if wanted is None else rt_wish.from_flavor(
            specs, flavor['vcpus'], wanted, flavor['ram'],
            flavor['disk'] + flavor['ephemeral'])
    except exception.InvalidReservation as error:
        return None, [str(error)]
    if wish is None:
        return None, ['The server asks for no reservation.']
    return wish, [f'The server asks for {wish.reservation} on '
                  f'{words.each(wish.vcpus, "vCPU")}.']


def _fault(server: Mapping[str, Any]) -> list[str]:
    fault = server.get('fault')
    return [f'Nova says: {fault["message"]}'] if fault else []
