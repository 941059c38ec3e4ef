# SPDX-License-Identifier: Apache-2.0

"""``tacker-rt check``: checks that the plugin is loaded in this environment.

stevedore logs a plugin that it cannot load and goes on, so a broken
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
    """The support of a package for the plugin."""

    OK = 'ok'
    #: The package is not installed here, and may not be needed here.
    MISSING = 'missing'
    FAILED = 'failed'


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """The result for one package.

    :ivar name: the name of the package
    """

    name: str
    status: Status
    text: str


class _Failed(Exception):
    """A check failed; the text is one sentence."""


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``check``."""
    parser = commands.add_parser(
        'check', help='check whether the plugin is loaded in this '
                      'environment',
        description='Shows whether tosca-parser, heat-translator, Tacker and '
        'Nova, as they are installed in this environment, support '
        'reservations.',
        epilog='Exit status: 0 every installed package supports '
        'reservations, 1 a package does not, or none is installed, 3 wrong '
        'usage.')
    parser.add_argument('-f', '--format', choices=('text', 'json'),
                        default='text', help='the format of the output '
                        '(default: %(default)s)')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand and returns its exit status."""
    with warnings.catch_warnings():
        # The user of this command need not see warnings of Tacker and Nova.
        warnings.simplefilter('ignore')
        results = list(_check_all())
    if args.format == 'json':
        print(json.dumps({'findings': list(map(dataclasses.asdict, results))},
                         indent=2))
    else:
        for result in results:
            print(f'{result.status:8}{result.name}: {result.text}')
    statuses = {result.status for result in results}
    return int(Status.FAILED in statuses or Status.OK not in statuses)


def _check_all() -> Iterator[Finding]:
    for name, check in _CHECKS.items():
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield Finding(name, Status.MISSING,
                          'the package is not installed')
            continue
        try:
            text = check(version)
        except _Failed as error:
            yield Finding(name, Status.FAILED, f'{version}: {error}')
        except Exception as error:
            # Any error of an import is a finding, too.
            yield Finding(name, Status.FAILED, f'{version}: the package '
                          f'cannot be loaded ({type(error).__name__}: '
                          f'{error})')
        else:
            yield Finding(name, Status.OK, f'{version}: {text}')


def _parser(version: str) -> str:
    points = [point for point in metadata.entry_points(group=_GROUP)
              if point.value.startswith(_OURS)]
    if not points:
        raise _Failed(f'tacker_rt has no entry point in {_GROUP}; install '
                      'nova-rt again')
    template = importlib.import_module('toscaparser.tosca_template')
    version_of_plugin = points[0].load().VERSION
    if version_of_plugin not in template.ToscaTemplate.exttools.get_versions():
        raise _Failed(f'tosca-parser did not load {points[0].value}; see its '
                      f'log')
    return f'supports the version {version_of_plugin}'


def _translator(version: str) -> str:
    importlib.import_module('toscaparser.tosca_template')
    class_by_type = importlib.import_module(
        'translator.hot.translate_node_templates').TOSCA_TO_HOT_TYPE
    classes = importlib.import_module('tacker_rt.heat.registry').CLASSES
    for ours in classes:
        if class_by_type.get(ours.toscatype) is not ours:
            raise _Failed(f'{ours.toscatype} is not translated by '
                          f'{ours.__module__}')
    return f'translates {len(classes)} types with reservations'


def _tacker(version: str) -> str:
    importlib.import_module('tacker_rt.userdata.v2')
    major = int(version.split('.')[0])
    if not _TACKER[0] <= major <= _TACKER[1]:
        raise _Failed('only Tacker {} to {} are tested'.format(*_TACKER))
    return 'accepts tacker_rt/userdata/v2.py as lcm-operation-user-data'


def _nova(version: str) -> str:
    validators = importlib.import_module(
        'nova.api.validation.extra_specs.validators')
    for key in reservation.KEYS:
        spec = reservation.FLAVOR_PREFIX + key
        if spec not in validators.VALIDATORS:
            raise _Failed(f'the API refuses flavors with {spec}; install '
                          'nova-rt where nova-api runs')
    return 'the API accepts the extra specs of flavors'


_CHECKS: dict[str, Callable[[str], str]] = {
    'tosca-parser': _parser, 'heat-translator': _translator,
    'tacker': _tacker, 'nova': _nova}
