# SPDX-License-Identifier: Apache-2.0

"""``openstack rt usage``: how much projects have reserved."""

import argparse
import collections
from typing import Any

from nova_rt.rules import hostmap
from rt_client import base
from rt_client import columns

_COLUMNS = ('Project', 'Reserved (pCPUs)', 'Sum of shares (pCPU)')
_COUNTED = ('Project', 'Servers', 'Reserved (pCPUs)',
            'Sum of shares (pCPU)')


class Usage(base.Lister):
    """Show how much CPU time a project has reserved, from Placement"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        whose = parser.add_mutually_exclusive_group()
        whose.add_argument(
            '--project', metavar='<project>',
            help='Show this project (ID; default: your own)')
        whose.add_argument(
            '--all-projects', action='store_true',
            help='Show each project that has a server with a reservation, '
                 'by the claims of its servers')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        if parsed_args.all_projects:
            return _COUNTED, self._all()
        manager: Any = self.app.client_manager
        project = parsed_args.project or manager.auth_ref.project_id
        used = self.cloud.usages(project)
        return _COLUMNS, [(project, *(columns.Share(used.get(name, 0))
                                      for name in hostmap.CLASSES))]

    def _all(self) -> list[base.Row]:
        sums: dict[str, collections.Counter[str]] = {}
        for server in self.cloud.servers(all_projects='1'):
            sums.setdefault(server.project_id, collections.Counter()).update(
                {'servers': 1} | hostmap.amounts(
                    server.vcpus, server.reservation.bandwidth))
        return [(project, used['servers'], *(
            columns.Share(used[name]) for name in hostmap.CLASSES))
            for project, used in sorted(sums.items())]
