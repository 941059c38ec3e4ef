# SPDX-License-Identifier: Apache-2.0

"""``openstack rt server list`` and ``openstack rt server show``."""

import argparse

from osc_lib import exceptions

from rt_client import base
from rt_client import cloud as rt_cloud
from rt_client import columns

_OWN = ('ID', 'Name', 'State', 'vCPUs', 'Runtime (us)', 'Period (us)',
        'Share (pCPU)')
_PLACES = ('Project', 'Host', 'pCPUs')
_USED = 'Used since the start (pCPUs)'


class ListServers(base.Lister):
    """List servers with a reservation"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        whose = parser.add_mutually_exclusive_group()
        whose.add_argument('--all-projects', action='store_true',
                           help='List the servers of all projects')
        whose.add_argument('--project', metavar='<project>',
                           help='List the servers of this project (ID)')
        parser.add_argument(
            '--host', metavar='<host>',
            help='List the servers on this host, of all projects unless '
                 '--project is given')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        asked = {}
        if parsed_args.project:
            asked['project_id'] = parsed_args.project
        elif parsed_args.all_projects or parsed_args.host:
            asked['all_projects'] = '1'
        if parsed_args.host:
            asked['host'] = parsed_args.host
        servers = list(self.cloud.servers(**asked))
        if any(server.claims for server in servers) or len(asked) > 0:
            return _OWN + _PLACES, [_own(each) + _places(each)
                                    for each in servers]
        return _OWN, list(map(_own, servers))


class ShowServer(base.ShowOne):
    """Show the reservation that a server holds, and its use of CPU time"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('server', metavar='<server>',
                            help='Name or ID of the server')
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> tuple[tuple[str, ...], base.Row]:
        shown = self.cloud.server(parsed_args.server)
        server = next(self.cloud.servers(
            uuid=shown['id'], project_id=shown['tenant_id']), None)
        if server is None:
            raise exceptions.CommandError(
                f'Server {parsed_args.server} holds no reservation; '
                f'"openstack rt explain" says why.')
        names: tuple[str, ...] = _OWN
        row = _own(server)
        if server.claims:
            names, row = _OWN + _PLACES, row + _places(server)
        used = self.cloud.use(server.id)
        if used is not None:
            names, row = (*names, _USED), (*row, columns.Share(used))
        return names, row


def _own(server: rt_cloud.Server) -> base.Row:
    reserved = server.reservation
    return (server.id, server.name, server.state, server.vcpus,
            reserved.runtime_us, reserved.period_us,
            columns.Share(reserved.bandwidth))


def _places(server: rt_cloud.Server) -> base.Row:
    ids = server.claims[0].pcpus if server.claims else ()
    return server.project_id, server.host, columns.Ids(list(ids))
