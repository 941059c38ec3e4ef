# SPDX-License-Identifier: Apache-2.0

"""``openstack rt flavor create``."""

import argparse

from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from rt_client import base
from rt_client import columns

_COLUMNS = ('ID', 'Name', 'vCPUs', 'Memory (MB)', 'Disk (GB)',
            'Runtime (us)', 'Period (us)', 'Share (pCPU)')


class CreateFlavor(base.ShowOne):
    """Create a flavor with a reservation; if Nova refuses it, create none"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('name', metavar='<name>',
                            help='Name of the new flavor')
        base.add_share(parser, required=True)
        parser.add_argument('--vcpus', metavar='<n>', type=int, default=1,
                            help='vCPUs (default: %(default)s)')
        parser.add_argument('--ram', metavar='<MB>', type=int, default=512,
                            help='Memory (default: %(default)s)')
        parser.add_argument('--disk', metavar='<GB>', type=int, default=0,
                            help='Disk (default: %(default)s)')
        parser.add_argument(
            '--unified-limits', action='store_true',
            help='Name the amounts of ' + ' and '.join(hostmap.CLASSES)
            + ' in the flavor, so that a nova-api without the middleware of '
              'nova-rt can compare these amounts with unified limits')
        parser.add_argument('--private', action='store_true',
                            help='Hide the flavor from other projects')
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> tuple[tuple[str, ...], base.Row]:
        reserved = base.from_share(parsed_args.share, parsed_args.period_us)
        specs = {reservation.FLAVOR_PREFIX + key: str(value)
                 for key, value in zip(reservation.KEYS, (
                     reserved.runtime_us, reserved.period_us), strict=True)}
        if parsed_args.unified_limits:
            specs |= {f'resources:{name}': str(amount) for name, amount
                      in hostmap.amounts(parsed_args.vcpus,
                                         reserved.bandwidth).items()}
        made = self.cloud.make_flavor(
            specs, name=parsed_args.name, vcpus=parsed_args.vcpus,
            ram=parsed_args.ram, disk=parsed_args.disk,
            is_public=not parsed_args.private)
        return _COLUMNS, (made.id, made.name, made.vcpus, made.ram, made.disk,
                          reserved.runtime_us, reserved.period_us,
                          columns.Share(reserved.bandwidth))
