# SPDX-License-Identifier: Apache-2.0

"""``openstack rt host list`` and ``openstack rt host show``."""

import argparse
from collections.abc import Iterator, Mapping, Sequence

from osc_lib import exceptions

from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.rules import soft
from rt_client import base
from rt_client import cloud as rt_cloud
from rt_client import columns
from rt_client import trouble

_LIST = ('Host', 'pCPUs', 'Offered (pCPUs)', 'Reserved (pCPUs)',
         'Free (pCPUs)', 'Largest free share (pCPU)', 'Kernel interface',
         'Version', 'Trouble')
_SHOW = ('pCPU', 'Cap (pCPU)', 'Reserved (pCPU)', 'Free (pCPU)', 'Claimed by')


class ListHosts(base.Lister):
    """List hosts with what they offer, what is reserved, and their trouble"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--trouble', action='store_true',
            help='List only hosts on which something is wrong')
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> base.Table:
        cloud = self.cloud
        services = cloud.services()
        rows = [_row(host, services) for host in cloud.hosts()]
        if parsed_args.trouble:
            rows = [row for row in rows if row[-1]._value]
        return _LIST, rows


def _row(host: rt_cloud.Host, services: Mapping[str, tuple[str, str]]
         ) -> base.Row:
    published = host.published
    wrong = columns.Lines(list(trouble.sentences(
        published, services.get(host.name))))
    if published is None:
        return (host.name, 0, *map(columns.Share, (0, 0, 0, 0)), '', '',
                wrong)
    state = published.state
    free = [max(0, state.free(cpu)) for cpu in state.cpus]
    return (host.name, len(state.cpus), *map(columns.Share, (
        state.total, state.total_used, sum(free), max(free, default=0))),
        published.interface, published.release, wrong)


class ShowHost(base.Lister):
    """Show who has claimed which share of each pCPU of a host"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('host', metavar='<host>',
                            help='Name of the host, as Nova has it')
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> base.Table:
        cloud = self.cloud
        hosts = cloud.hosts(parsed_args.host)
        if not hosts:
            raise exceptions.CommandError(
                f'There is no host {parsed_args.host} with nova-compute.')
        servers = list(cloud.servers(all_projects='1'))
        return _SHOW, [row for host in hosts for row in _pcpus(host, servers)]


def _pcpus(host: rt_cloud.Host, servers: list[rt_cloud.Server]
           ) -> Iterator[base.Row]:
    published = host.published
    if published is None:
        return
    holders = holders_of(host, servers)
    state = published.state
    for cpu, used in zip(state.cpus, state.used, strict=True):
        yield (cpu, *map(columns.Share, (
            state.cap, used, max(0, state.free(cpu)))),
            columns.Lines(holders.get(cpu, [])))


def holders_of(host: rt_cloud.Host, servers: list[rt_cloud.Server]
               ) -> dict[int, list[str]]:
    """Returns who holds how much, by pCPU of a host."""
    holders: dict[int, list[str]] = {}
    claims = [(server, claim) for server in servers
              for claim in server.claims if claim.provider == host.provider]
    for (server, claim), more in zip(claims, _above(
            host, [claim for _, claim in claims]), strict=True):
        for cpu in claim.pcpus:
            holders.setdefault(cpu, []).append(
                f'{_share(claim.reservation)} {server.name} '
                f'({server.id}){more}')
    for stranger in strangers_of(host):
        for ids, share in stranger.shares:
            for cpu in ids:
                holders.setdefault(cpu, []).append(
                    f'{_share(share)} {stranger}, unknown to Nova here')
    return holders


def _above(host: rt_cloud.Host, claims: Sequence[rt_cloud.Claim]
           ) -> Iterator[str]:
    """Yields what each soft reservation gets now; '' for a hard one."""
    wishes = [(claim.pcpus, claim.reservation)
              for claim in claims if claim.soft]
    granted = iter(soft.granted(host.published.state, wishes)
                   if host.published else [wanted for _, wanted in wishes])
    for claim in claims:
        yield (f', soft: at most {_share(next(granted))} now' if claim.soft
               else '')


def strangers_of(host: rt_cloud.Host) -> tuple[hostmap.Stranger, ...]:
    """Returns the guests of a host that Nova does not have there."""
    return host.published.strangers if host.published else ()


def _share(reserved: reservation.Reservation) -> str:
    return reservation.decimal(reserved.bandwidth)
