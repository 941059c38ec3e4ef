# SPDX-License-Identifier: Apache-2.0

"""``openstack rt plan``: the smallest reservation that meets a target.

The command uses the model of ``nova-rt plan``, and is for users who have no
access to a host. The command talks to no service.
"""

import argparse

from osc_lib.command import command
from osc_lib import exceptions

from nova_rt.rules import defaults
from nova_rt.rules import exception
from rt_client import columns

_US_PER_MS = 1000
_COLUMNS = ('Runtime (us)', 'Period (us)', 'Share (pCPU)', 'Kernel')


class Plan(command.ShowOne):
    """Find the smallest reservation with which response times meet a target"""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--arrival-rate', metavar='<Hz>', type=float, required=True,
            help='Requests a second to all vCPUs together, at random times')
        parser.add_argument(
            '--service-rate', metavar='<Hz>', type=float, required=True,
            help='Requests a second that a whole physical CPU serves')
        parser.add_argument(
            '--target-ms', metavar='<ms>', type=float, required=True,
            help='Response time to meet, at the percentile')
        parser.add_argument(
            '--percentile', metavar='<part>', type=float, default=0.99,
            help='Part of the requests that must meet the target (default: '
                 '%(default)s)')
        parser.add_argument('--vcpus', metavar='<n>', type=int, default=1,
                            help='vCPUs of the server (default: %(default)s)')
        parser.add_argument(
            '--period-us', metavar='<us>', type=int,
            help='Period (default: the one that costs least)')
        parser.add_argument(
            '--max-share', metavar='<share>', type=float,
            default=defaults.MAX_SHARE,
            help='Largest share of a vCPU (default: %(default)s)')
        parser.add_argument(
            '--kernel', metavar='<rule>', default='cbs',
            choices=('cbs', 'sched_deadline', 'rt_group_sched'),
            help='What enforces the reservation (default: %(default)s)')
        parser.add_argument(
            '--tick-us', metavar='<us>', type=int, default=0,
            help='Interval in which the kernel charges run time; 0 if a '
                 'timer charges run time (default: %(default)s)')
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> tuple[tuple[str, ...], tuple[object, ...]]:
        try:
            return _planned(parsed_args)
        except exception.RTError as error:
            raise exceptions.CommandError(str(error)) from None
        except ModuleNotFoundError as error:
            raise exceptions.CommandError(
                f'{error.name} is not installed here: install '
                f'nova-rt[client,models].') from None


def _planned(args: argparse.Namespace
             ) -> tuple[tuple[str, ...], tuple[object, ...]]:
    # numpy is imported only where it is needed.
    from rt_models.model import kernel as rt_kernel
    from rt_models.model import load as rt_load
    from rt_models.model import planner

    kernel = rt_kernel.Kernel(rt_kernel.Rule(args.kernel), args.tick_us)
    load = planner.split(
        rt_load.Load(args.arrival_rate, args.service_rate), args.vcpus)
    target = rt_load.Target(args.target_ms * _US_PER_MS, args.percentile)
    planned = planner.plan(planner.Question(
        load, target, max_share=args.max_share, kernel=kernel),
        args.period_us)
    return _COLUMNS, (planned.runtime_us, planned.period_us,
                      columns.Share(planned.bandwidth), str(kernel))
