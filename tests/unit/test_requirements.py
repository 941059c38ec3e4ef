# SPDX-License-Identifier: Apache-2.0

"""Tests what each role installs is what its modules import, and no more."""

import ast
from collections.abc import Iterator
from importlib import metadata
import pathlib
import re
import sys
import tomllib
import unittest

import ddt
from packaging import requirements
from packaging import utils

from nova_rt.cli import missing

_ROOT = pathlib.Path(__file__).parents[2]
_PROJECT = tomllib.loads((_ROOT / 'pyproject.toml').read_text())['project']
_EXTRAS = _PROJECT['optional-dependencies']
_OURS = ('nova_rt', 'nova_rt_tempest_plugin', 'rt_client', 'rt_hcbs',
         'rt_models', 'rt_monitor', 'rt_operate', 'rt_probe', 'rt_weighers',
         'tacker_rt')
_COMMANDS = 'rt_operate.commands'
#: Where an import has another name than what is installed.
_DISTRIBUTIONS = {
    'libvirt': 'libvirt-python',
    'openstack': 'openstacksdk',
    'opentelemetry': 'opentelemetry-sdk',
    'toscaparser': 'tosca-parser',
    'translator': 'heat-translator',
    'yaml': 'pyyaml',
}
#: (room, the extras of which each has what it imports, what it plugs into).
#: The most precise line holds for a module; '' is the wheel without extras.
_ROLES = (
    ('nova_rt', '', ''),
    ('nova_rt.machine.privsep', 'compute', ''),
    ('nova_rt.services', 'nova', 'nova'),
    ('nova_rt.services.virt', 'compute', 'nova'),
    ('rt_operate', '', ''),
    ('rt_operate.manage', 'nova', 'nova'),
    ('rt_operate.doctor.options', 'nova', ''),
    (_COMMANDS + '.drawing', 'plot', ''),
    (_COMMANDS + '.compute', 'nova', 'nova'),
    (_COMMANDS + '.manage', 'nova', 'nova'),
    (_COMMANDS + '.status', 'nova', 'nova'),
    ('rt_client', 'client', ''),
    ('rt_hcbs', '', ''),
    ('rt_models', 'models', ''),
    ('rt_weighers', 'nova', 'nova'),
    # Two weighers of nova-scheduler weigh by them.
    ('rt_models.interference', 'models nova', ''),
    ('rt_models.pinning', 'models nova', ''),
    ('rt_monitor', '', ''),
    ('rt_monitor.graph', 'monitor', ''),
    ('rt_monitor.page', 'monitor', ''),
    ('rt_monitor.otlp', 'otlp', ''),
    ('rt_probe', '', ''),
    ('tacker_rt', 'tacker', ''),
    ('tacker_rt.userdata', 'tacker', 'tacker'),
    ('nova_rt_tempest_plugin', 'tempest', ''),
)
#: (what a role starts with, its extra, what it plugs into): all that these
#: import, directly or not, before they are asked for anything.
_STARTS = (
    ('rt_probe.__main__', '', ''),
    ('rt_operate.commands.main', '', ''),
    ('rt_operate.commands.serve', '', ''),
    ('rt_operate.commands.entry', '', ''),
    ('rt_operate.commands.monitor', '', ''),
    ('rt_operate.commands.graph', '', ''),
    ('rt_operate.commands.release', '', ''),
    ('rt_operate.commands.pinning', '', ''),
    ('rt_operate.conformance.command', '', ''),
    ('rt_operate.doctor.command', '', ''),
    ('rt_operate.commands.plan', 'models', ''),
    ('rt_operate.commands.predict', 'models', ''),
    ('rt_operate.commands.advise', 'models', ''),
    ('rt_operate.commands.interference', 'models', ''),
    ('nova_rt.services.api.middleware', 'nova', 'nova'),
    ('nova_rt.services.api.extra_specs', 'nova', 'nova'),
    ('nova_rt.services.install', 'nova', 'nova'),
    ('nova_rt.scheduler.filters', 'nova', 'nova'),
    ('nova_rt.scheduler.weights', 'nova', 'nova'),
    ('rt_weighers.rt_chr_weigher', 'nova', 'nova'),
    ('rt_weighers.rt_interference_weigher', 'nova',
     'nova'),
    ('nova_rt.services.scheduler.weights.rt_share_weigher', 'nova', 'nova'),
    ('rt_operate.commands.manage', 'nova', 'nova'),
    ('rt_operate.commands.status', 'nova', 'nova'),
    ('rt_operate.commands.compute', 'nova', 'nova'),
    ('nova_rt.services.virt.libvirt.driver', 'compute', 'nova'),
    ('tacker_rt.cmd.main', '', ''),
    ('tacker_rt.cmd.validate', 'tacker', ''),
    ('tacker_rt.cmd.translate', 'tacker', ''),
    ('tacker_rt.cmd.pack', 'tacker', ''),
    ('tacker_rt.cmd.check', 'tacker', ''),
    ('tacker_rt.extension', 'tacker', ''),
    ('tacker_rt.userdata.v1', 'tacker', 'tacker'),
    ('tacker_rt.userdata.v2', 'tacker', 'tacker'),
)


def _modules() -> dict[str, ast.Module]:
    modules = {}
    for package in _OURS:
        for path in (_ROOT / package).rglob('*.py'):
            parts = path.relative_to(_ROOT).with_suffix('').parts
            name = '.'.join(one for one in parts if one != '__init__')
            modules[name] = ast.parse(path.read_text())
    return modules


_MODULES = _modules()


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (f'{node.module}.{alias.name}' for alias in node.names)


def _at_start(tree: ast.AST) -> Iterator[str]:
    """The names that a module imports when it is imported itself."""
    for node in ast.iter_child_nodes(tree):
        yield from _names(node)
        if isinstance(node, ast.If) and 'TYPE_CHECKING' in ast.unparse(
                node.test):
            continue
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _at_start(node)


def _closure(module: str, seen: set[str]) -> Iterator[str]:
    """The names that all modules import which *module* imports."""
    parts = module.split('.')
    for length in range(1, len(parts) + 1):
        name = '.'.join(parts[:length])
        if name in _MODULES and name not in seen:
            seen.add(name)
            for imported in _at_start(_MODULES[name]):
                yield imported
                yield from _closure(imported, seen)


def _packages(names: Iterator[str]) -> set[str]:
    """Yields the packages of others, by the names they install under."""
    first = {name.partition('.')[0] for name in names}
    return {utils.canonicalize_name(_DISTRIBUTIONS.get(name, name))
            for name in first - {*_OURS, *sys.stdlib_module_names}}


def _declared(extra: str) -> dict[str, requirements.Requirement]:
    """Returns what an extra has, with those that it names."""
    found = {}
    for text in _EXTRAS[extra] if extra else _PROJECT['dependencies']:
        one = requirements.Requirement(text)
        if one.name == _PROJECT['name']:
            for other in one.extras:
                found |= _declared(other)
        else:
            found[utils.canonicalize_name(one.name)] = one
    return found


def _room(module: str) -> tuple[str, str, str]:
    return max((line for line in _ROLES
                if f'{module}.'.startswith(f'{line[0]}.')),
               key=lambda line: len(line[0]))


@ddt.ddt
class RequirementsTest(unittest.TestCase):

    def test_the_wheel_alone_needs_nothing(self):
        self.assertEqual([], _PROJECT['dependencies'])
        lines = (_ROOT / 'requirements.txt').read_text().splitlines()
        self.assertEqual([], [line for line in lines
                              if line and not line.startswith('#')])

    @ddt.data(*_ROLES)
    @ddt.unpack
    def test_each_import_of_a_room_is_declared(self, room, extras, plugged):
        modules = [name for name in _MODULES if _room(name)[0] == room]
        self.assertTrue(modules, f'there is no {room}')
        imported = set().union(*(_packages(
            name for node in ast.walk(_MODULES[module])
            for name in _names(node)) for module in modules))
        for extra in extras.split() or ['']:
            self.assertEqual(set(), imported - {plugged}
                             - _declared(extra).keys(), extra)

    @ddt.data(*_STARTS)
    @ddt.unpack
    def test_what_a_role_starts_with_imports_no_more(
            self, module, extra, plugged):
        self.assertIn(module, _MODULES)
        self.assertEqual(set(), _packages(_closure(module, set()))
                         - {plugged} - _declared(extra).keys())

    def test_no_role_has_what_is_not_its_own(self):
        for extra in _EXTRAS:
            self.assertFalse({'nova', 'tacker'} & _declared(extra).keys())
        for extra in ('nova', 'compute', 'tacker', 'monitor'):
            self.assertFalse({'numpy', 'opentelemetry-sdk', 'matplotlib'}
                             & _declared(extra).keys(), extra)

    def test_pip_never_upgrades_a_package_of_nova(self):
        """Versions that Nova 32 and newer accept are enough."""
        novas = {utils.canonicalize_name(one.name): one for one in map(
            requirements.Requirement, metadata.requires('nova') or ())}
        for name, ours in _declared('compute').items():
            if name != 'libvirt-python':
                self.assertIn(name, novas)
                (least,) = (one.version for one in ours.specifier)
                (accepted,) = (one.version for one in novas[name].specifier)
                self.assertLessEqual(
                    utils.Version(least), utils.Version(accepted), name)

    def test_each_package_has_a_version_to_test_with(self):
        lines = (_ROOT / 'upper-constraints.txt').read_text().splitlines()
        constrained = {utils.canonicalize_name(line.partition('==')[0])
                       for line in lines if '==' in line}
        for extra in _EXTRAS:
            self.assertEqual(set(), _declared(extra).keys() - constrained)

    def test_sentences_name_an_extra_that_has_the_package(self):
        for name, (title, extra) in missing._KNOWN.items():
            (package,) = _packages(iter([name]))
            self.assertIn(package, _declared(extra), title)

    def test_pages_name_extras_that_there_are(self):
        places = (*_ROOT.glob('*.rst'), *(_ROOT / 'doc').rglob('*.rst'),
                  *(_ROOT / 'nova_rt').rglob('*.py'),
                  *(_ROOT / 'rt_monitor').glob('*.py'))
        named = {extra for path in places for extras in re.findall(
            r'nova-rt\[([a-z,]+)\]', path.read_text())
            for extra in extras.split(',')}
        self.assertEqual(set(), named - _EXTRAS.keys())
        self.assertEqual(set(), _EXTRAS.keys() - named)
