# SPDX-License-Identifier: Apache-2.0

"""``tacker-rt check``: is the plugin loaded where this runs?

stevedore logs what it cannot load and goes on, so that a broken
installation would deploy VDUs without their reservations.
"""

import argparse
from collections.abc import Callable, Iterator
import dataclasses
import enum
import importlib
from importlib import metadata
import json
from typing import Any
import warnings

from nova_rt.rules import reservation

_GROUP = 'toscaparser.extensions'
_OURS = 'tacker_rt.'
_TACKER = (15, 16)


class Status(enum.StrEnum):
    OK = 'ok'
    #: Not installed here, which may be as it should.
    MISSING = 'missing'
    FAILED = 'failed'


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    name: str
    status: Status
    text: str


class _Failed(Exception):
    """One sentence."""


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    parser = commands.add_parser(
        'check', help='is the plugin loaded in this environment?',
        description='Shows whether tosca-parser, heat-translator, Tacker and '
        'Nova, as they are installed here, know of reservations.',
        epilog='Exit status: 0 all that are installed do, 1 one does not, or '
        'none is installed, 3 wrong usage.')
    parser.add_argument('-f', '--format', choices=('text', 'json'),
                        default='text')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    with warnings.catch_warnings():
        # Those of Tacker and Nova are not ours to show.
        warnings.simplefilter('ignore')
        found = list(_look())
    if args.format == 'json':
        print(json.dumps({'findings': list(map(dataclasses.asdict, found))},
                         indent=2))
    else:
        for one in found:
            print(f'{one.status:8}{one.name}: {one.text}')
    statuses = {one.status for one in found}
    return int(Status.FAILED in statuses or Status.OK not in statuses)


def _look() -> Iterator[Finding]:
    for name, check in _CHECKS.items():
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield Finding(name, Status.MISSING, 'it is not installed')
            continue
        try:
            text = check(version)
        except _Failed as error:
            yield Finding(name, Status.FAILED, f'{version}: {error}')
        except Exception as error:
            # Whatever keeps it from being imported is the finding.
            yield Finding(name, Status.FAILED, f'{version}: it cannot be '
                          f'loaded ({type(error).__name__}: {error})')
        else:
            yield Finding(name, Status.OK, f'{version}: {text}')


def _parser(version: str) -> str:
    points = [point for point in metadata.entry_points(group=_GROUP)
              if point.value.startswith(_OURS)]
    if not points:
        raise _Failed(f'there is no entry point in {_GROUP}; install this '
                      'package again')
    template = importlib.import_module('toscaparser.tosca_template')
    ours = points[0].load().VERSION
    if ours not in template.ToscaTemplate.exttools.get_versions():
        raise _Failed(f'it did not load {points[0].value}')
    return f'knows {ours}'


def _translator(version: str) -> str:
    importlib.import_module('toscaparser.tosca_template')
    known = importlib.import_module(
        'translator.hot.translate_node_templates').TOSCA_TO_HOT_TYPE
    wanted = importlib.import_module('tacker_rt.heat.registry').CLASSES
    for ours in wanted:
        if known.get(ours.toscatype) is not ours:
            raise _Failed(f'{ours.toscatype} is not translated by '
                          f'{ours.__module__}')
    return f'translates {len(wanted)} types with reservations'


def _tacker(version: str) -> str:
    importlib.import_module('tacker_rt.userdata.v2')
    major = int(version.split('.')[0])
    if not _TACKER[0] <= major <= _TACKER[1]:
        raise _Failed('tested are Tacker {} to {}'.format(*_TACKER))
    return 'takes tacker_rt/userdata/v2.py as lcm-operation-user-data'


def _nova(version: str) -> str:
    validators = importlib.import_module(
        'nova.api.validation.extra_specs.validators')
    for key in reservation.KEYS:
        spec = reservation.FLAVOR_PREFIX + key
        if spec not in validators.VALIDATORS:
            raise _Failed(f'the API refuses flavors with {spec}; install '
                          'this package where nova-api runs')
    return 'the API accepts the extra specs of flavors'


_CHECKS: dict[str, Callable[[str], str]] = {
    'tosca-parser': _parser, 'heat-translator': _translator,
    'tacker': _tacker, 'nova': _nova}
