# SPDX-License-Identifier: Apache-2.0

"""``openstack rt fit``: how many more servers, and on which hosts."""

import argparse
from collections.abc import Mapping
from typing import Any

from osc_lib import exceptions

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.rules import room
from rt_client import base
from rt_client import cloud as rt_cloud
from rt_client import wish as rt_wish

_COLUMNS = ('Host', 'Servers', 'Reason')
_MORE = 'the pCPUs have no more room'


class Fit(base.Lister):
    """Show how many more servers fit on each host, and what the limit is"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        base.add_share(parser, required=False)
        parser.add_argument('--vcpus', metavar='<n>', type=int,
                            help='vCPUs of the server (default: 1)')
        parser.add_argument(
            '--flavor', metavar='<flavor>',
            help='Take the values of --share and --vcpus from this flavor if '
                 'they are not given, and also its memory and disk')
        parser.add_argument('--all', action='store_true',
                            help='Also list hosts without room (the default '
                                 'if no host has room)')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        wish = self._wish(parsed_args)
        offered = self.cloud.candidates(wish.amounts, hostmap.TRAIT)
        rows = [(host.name, *how_many(host, wish, offered))
                for host in self.cloud.hosts()]
        everything = parsed_args.all or not any(row[1] for row in rows)
        return _COLUMNS, sorted(
            (row for row in rows if row[1] or everything),
            key=lambda row: (-row[1], row[0]))

    def _wish(self, args: argparse.Namespace) -> rt_wish.Wish:
        flavor = self.cloud.flavor(args.flavor) if args.flavor else None
        specs = flavor.extra_specs or {} if flavor else {}
        vcpus = args.vcpus or (flavor.vcpus if flavor else 1)
        if vcpus < 1:
            raise exceptions.CommandError(
                f'--vcpus {vcpus} is not a number of vCPUs: give 1 or more.')
        wanted = self._wanted(args, flavor)
        try:
            return rt_wish.from_flavor(
                specs, vcpus, wanted, flavor.ram if flavor else 0,
                flavor.disk + flavor.ephemeral if flavor else 0)
        except exception.InvalidReservation as error:
            raise exceptions.CommandError(
                f'Flavor {args.flavor}: {error}') from None

    @staticmethod
    def _wanted(args: argparse.Namespace, flavor: Any
                ) -> reservation.Reservation:
        if args.share:
            return base.from_share(args.share, args.period_us)
        if flavor is None:
            raise exceptions.CommandError('Give --share or --flavor.')
        reserved = base.reserved_by(flavor)
        if reserved is None:
            raise exceptions.CommandError(
                f'Flavor {args.flavor} has no reservation; give --share.')
        return reserved


def how_many(host: rt_cloud.Host, wish: rt_wish.Wish,
             offered: Mapping[str, Mapping[str, Mapping[str, int]]]
             ) -> tuple[int, str]:
    """Returns how many more servers fit on a host, and what the limit is.

    :param offered: the providers that Placement offers, with capacities
    """
    published = host.published
    if nothing := rt_wish.offers_nothing(published):
        return 0, nothing
    assert published is not None  # noqa: S101 - or it offered nothing.
    if refusals := list(rt_wish.refusals(published, wish)):
        return 0, '; '.join(refusals)
    if host.provider not in offered:
        return 0, 'Placement does not offer the host'
    limits = {'': room.count(published.state, wish.vcpus, wish.reservation)}
    for name, amount in wish.amounts.items():
        has = offered[host.provider].get(name)
        if has is not None:
            limits[name] = (has['capacity'] - has['used']) // amount
    name, least = min(limits.items(), key=lambda each: each[1])
    reason = f'Placement has no more {name}' if name else _MORE
    if least and wish.has_topology:
        reason = f'{reason}; {rt_wish.CELLS}'
    return least, reason
