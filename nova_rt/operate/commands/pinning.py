# SPDX-License-Identifier: Apache-2.0

"""``nova-rt pinning``: how a workload should have its CPUs."""

import argparse
from collections.abc import Iterable, Iterator
import json
from typing import Any

from nova_rt.cli import base
from nova_rt.operate.commands import flavors
from nova_rt.rules import workload
from rt_models.pinning import advice
from rt_models.pinning import rules


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    parser = commands.add_parser(
        'pinning', help='whether to reserve, dedicate or share CPUs',
        description='How a workload should have its CPUs, by rules that '
                    'are named, and the flavor that says so.',
        epilog='Exit status: 0 done, 1 no such server or host, 3 wrong '
               'usage.')
    parser.add_argument(
        '--app-class', required=True, metavar='CLASS',
        choices=[str(each) for each in workload.AppClass],
        help='what bounds it: cpu, io or ultra-io')
    parser.add_argument('--vcpus', required=True, type=int, metavar='N')
    parser.add_argument(
        '--host-cores', required=True, type=int, nargs='+', metavar='N',
        help='cores of each kind of host there is')
    parser.add_argument(
        '--vm', action='store_true',
        help='it is a virtual machine; a container unless given')
    parser.add_argument(
        '--no-reservations', dest='reservations', action='store_false',
        help='the hosts take no CPU reservations')
    parser.add_argument(
        '--no-dedicated', dest='dedicated', action='store_false',
        help='nor have they CPUs to give away')
    parser.add_argument(
        '--ram', type=int, default=512, metavar='MB',
        help='memory of the flavor (default: %(default)s)')
    base.add_format(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    question = advice.Question(
        workload.AppClass(args.app_class), args.vcpus,
        tuple(args.host_cores), args.vm, args.reservations, args.dedicated)
    found = advice.advise(question)
    flavor = flavors.command(
        f'{question.app_class}-{question.vcpus}', question.vcpus, args.ram,
        advice.extra_specs(question, found.placement))
    if args.format == 'json':
        print(json.dumps(_data(found, flavor), indent=2))
    else:
        print('\n'.join(_lines(found, flavor)))
    return 0


def _lines(found: advice.Advice, flavor: str) -> Iterator[str]:
    yield f'Placement: {found.placement}'
    yield from _named('Because', found.reasons)
    yield from _named('Mind', found.warnings)
    yield ''
    yield f'CHR, wanted {found.range} where CPUs are shared:'
    for size in found.sizes:
        yield (f'  {size.chr:.3f} on {size.cores} cores: '
               f'{size.advice or "in the range"}')
    yield advice.CAVEAT
    yield ''
    yield flavor


def _named(word: str, named: Iterable[rules.Rule]) -> Iterator[str]:
    for rule in named:
        yield f'{word}: {rule.text} ({rule.source})'


def _data(found: advice.Advice, flavor: str) -> dict[str, Any]:
    return {
        'placement': str(found.placement),
        'reasons': [_rule(each) for each in found.reasons],
        'warnings': [_rule(each) for each in found.warnings],
        'chr_range': [found.range.low / 100, found.range.high / 100],
        'hosts': [{'cores': size.cores, 'chr': size.chr,
                   'in_range': size.in_range, 'advice': size.advice}
                  for size in found.sizes],
        'caveat': advice.CAVEAT, 'flavor': flavor}


def _rule(rule: rules.Rule) -> dict[str, str]:
    return {'name': rule.name, 'text': rule.text, 'source': rule.source}
