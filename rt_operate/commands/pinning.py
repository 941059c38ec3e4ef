# SPDX-License-Identifier: Apache-2.0

"""``nova-rt pinning``: advises how a workload should get its CPUs."""

import argparse
from collections.abc import Iterable, Iterator
import json
from typing import Any

from nova_rt.cli import formats
from nova_rt.rules import workload
from rt_models.pinning import advice
from rt_models.pinning import hosts
from rt_models.pinning import rules
from rt_models.pinning import topology
from rt_operate.commands import flavors


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``pinning``."""
    parser = commands.add_parser(
        'pinning', help='advise whether to reserve, dedicate or share CPUs',
        description='Advises how a workload should get its CPUs, names the '
                    'rules behind the advice, and prints a flavor for it.',
        epilog='Exit status: 0 done, 1 the numbers do not describe a server '
               'or a host, 3 wrong usage.')
    parser.add_argument(
        '--app-class', required=True, metavar='CLASS',
        choices=[str(app_class) for app_class in workload.AppClass],
        help='what bounds the workload: cpu, io or ultra-io')
    parser.add_argument('--vcpus', required=True, type=int, metavar='N',
                        help='the number of vCPUs')
    parser.add_argument(
        '--host-cores', type=int, nargs='+', default=[], metavar='N',
        help='the number of cores of each kind of host in the cloud')
    parser.add_argument(
        '--host', nargs='+', default=[], metavar='PATH',
        help='each kind of host, as a folder with a copy of '
             '/sys/devices/system/cpu or a file that "lstopo FILE.xml" wrote '
             '(default: this host, unless --host-cores is given)')
    parser.add_argument(
        '--vm', action='store_true',
        help='the workload runs in a virtual machine (default: in a '
             'container)')
    parser.add_argument(
        '--no-reservations', dest='reservations', action='store_false',
        help='the hosts offer no CPU reservations')
    parser.add_argument(
        '--no-dedicated', dest='dedicated', action='store_false',
        help='the hosts offer no dedicated CPUs')
    parser.add_argument(
        '--ram', type=int, default=512, metavar='MB',
        help='the memory of the flavor (default: %(default)s)')
    formats.add_option(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand and returns its exit status."""
    question = advice.PinningQuestion(
        workload.AppClass(args.app_class), args.vcpus, _hosts(args), args.vm,
        args.reservations, args.dedicated)
    advised = advice.advise(question)
    flavor = flavors.command(
        f'{question.app_class}-{question.vcpus}', question.vcpus, args.ram,
        advice.extra_specs(question, advised.placement))
    formats.show(args, lambda: '\n'.join(_lines(advised, flavor)),
                 lambda: json.dumps(_data(advised, flavor), indent=2))
    return 0


def _hosts(args: argparse.Namespace) -> tuple[topology.Host, ...]:
    paths = args.host or ([] if args.host_cores else ['/'])
    return (*map(hosts.read, paths),
            *map(topology.plain, args.host_cores))


def _lines(advised: advice.Advice, flavor: str) -> Iterator[str]:
    yield f'Placement: {advised.placement}'
    yield from _named('Because', advised.reasons)
    yield from _named('Beware', advised.warnings)
    yield ''
    for size in advised.sizes:
        yield str(size.host)
        if size.chr is not None:
            yield (f'  CHR {size.chr:.3f}, which should be {advised.range} '
                   f'or more'
                   + (f': {size.advice}' if size.advice else ''))
        yield from (f'  {note}' for note in size.notes)
    if any(size.chr is not None for size in advised.sizes):
        yield advice.CAVEAT
    yield ''
    yield flavor


def _named(word: str, named: Iterable[rules.PinningRule]) -> Iterator[str]:
    for rule in named:
        yield f'{word}: {rule.text} ({rule.source})'


def _data(advised: advice.Advice, flavor: str) -> dict[str, Any]:
    return {
        'placement': str(advised.placement),
        'reasons': [_rule(rule) for rule in advised.reasons],
        'warnings': [_rule(rule) for rule in advised.warnings],
        'chr_range': [advised.range.low / 100, advised.range.high / 100],
        'hosts': [_host(size) for size in advised.sizes],
        'caveat': advice.CAVEAT, 'flavor': flavor}


def _host(size: advice.HostSize) -> dict[str, Any]:
    host = size.host
    known = {'cores': host.cores, 'sockets': host.sockets,
             'caches': host.caches, 'kinds': host.kinds} if host.known else {}
    return {'name': host.name, 'pcpus': host.pcpus, **known,
            'fits': size.fits, 'chr': size.chr, 'advice': size.advice,
            'notes': size.notes}


def _rule(rule: rules.PinningRule) -> dict[str, str]:
    return {'name': rule.name, 'text': rule.text, 'source': rule.source}
