# SPDX-License-Identifier: Apache-2.0

"""Tests what each floor may import: one table, and no circles."""

import ast
from collections.abc import Iterator
import graphlib
import pathlib
import sys
import unittest

import ddt

_ROOT = pathlib.Path(__file__).parents[2]
_PACKAGES = ('nova_rt', 'nova_rt_tempest_plugin', 'paper', 'rt_client',
             'rt_hcbs', 'rt_models', 'rt_monitor', 'rt_operate', 'rt_probe',
             'rt_weighers', 'tacker_rt')
_HOST = 'nova_rt.machine.host'
#: Makes threads SCHED_DEADLINE, for privsep and for commands of root.
_WRITES = 'nova_rt.machine.sched_setattr'
_BELOW = 'nova_rt.rules nova_rt.machine'
_AROUND = 'rt_models rt_monitor rt_probe'
_ANY = '*'
#: May be imported by all.
_EVERYWHERE = 'nova_rt.version'
_ANNOUNCE = 'nova_rt.services.announce'
_EVENTS = 'nova_rt.services.events'
_MEDITATION = 'nova_rt.services.meditation'
#: What services tell people.
_TELLS = f'{_ANNOUNCE} {_EVENTS} {_MEDITATION}'
#: (room, what of this project it may import beside itself, which other
#: packages).  The most precise line holds for a module; '*' is any package.
_FLOORS = (
    ('nova_rt.rules', '', ''),
    ('nova_rt.cli', 'nova_rt.rules', ''),
    (_HOST, 'nova_rt.rules', ''),
    (_WRITES, _HOST, ''),
    ('nova_rt.machine.privsep', f'{_HOST} {_WRITES} nova_rt.rules',
     'oslo_privsep'),
    ('nova_rt.machine.kernel',
     f'{_HOST} nova_rt.machine.privsep nova_rt.rules', ''),
    ('nova_rt.machine.trial', f'{_HOST} nova_rt.rules', ''),
    ('nova_rt.services.conf', 'nova_rt.rules', 'oslo_config'),
    ('nova_rt.services.selfcheck', 'nova_rt.rules', _ANY),
    (_ANNOUNCE, '', 'oslo_log'),
    (_EVENTS, 'nova_rt.rules', 'oslo_context oslo_log'),
    (_MEDITATION, _EVENTS, 'oslo_reports'),
    ('nova_rt.services.api',
     f'nova_rt.rules {_TELLS} nova_rt.services.compute '
     'nova_rt.services.conf nova_rt.services.selfcheck '
     'nova_rt.services.servers', _ANY),
    ('nova_rt.services.scheduler',
     f'nova_rt.rules {_TELLS} nova_rt.services.compute '
     'nova_rt.services.conf nova_rt.services.selfcheck '
     'nova_rt.services.servers', _ANY),
    ('nova_rt.services.compute',
     f'{_BELOW} {_EVENTS} nova_rt.services.conf', _ANY),
    ('nova_rt.services.virt',
     f'{_BELOW} {_TELLS} nova_rt.services.compute '
     'nova_rt.services.conf nova_rt.services.install '
     'nova_rt.services.selfcheck', _ANY),
    ('nova_rt.services', f'{_BELOW}', _ANY),
    ('nova_rt.services.shim', 'nova_rt.services.virt', _ANY),
    # The names that operators' files have.
    ('nova_rt.scheduler', 'nova_rt.services.scheduler', ''),
    ('nova_rt.privsep', 'nova_rt.machine.privsep', ''),
    (_EVERYWHERE, '', ''),
    ('rt_operate.doctor', f'{_BELOW} nova_rt.cli nova_rt.services.conf '
     'rt_monitor', 'oslo_config'),
    ('rt_operate', f'{_BELOW} nova_rt.cli nova_rt.services {_AROUND} '
     'rt_weighers', _ANY),
    # On a computer of its user: no machine, no services.
    ('rt_client', 'nova_rt.rules', 'cliff openstack osc_lib'),
    ('rt_client.plan', 'nova_rt.rules rt_client rt_models.model',
     'cliff osc_lib'),
    # A plug-in: the core does not import it.
    ('rt_hcbs', f'{_BELOW}', ''),
    ('rt_models.model', 'nova_rt.rules', 'numpy'),
    ('rt_models.pinning', 'nova_rt.rules', ''),
    ('rt_models.interference', 'nova_rt.rules', 'yaml'),
    ('rt_models.colocation', f'{_BELOW} rt_models.interference', 'yaml'),
    ('rt_models', '', ''),
    ('rt_monitor', f'nova_rt.rules {_HOST} nova_rt.machine.kernel',
     'networkx opentelemetry requests'),
    ('rt_probe', _HOST, ''),
    # They stand above the models, which import nothing of OpenStack.
    ('rt_weighers', 'nova_rt.rules nova_rt.services.conf '
     'nova_rt.services.scheduler rt_models.interference rt_models.pinning',
     _ANY),
    ('tacker_rt.vnfd', 'nova_rt.rules rt_models.model tacker_rt.exception '
     'tacker_rt.files tacker_rt.problem', 'yaml'),
    ('tacker_rt', 'nova_rt.rules nova_rt.cli', _ANY),
    ('nova_rt_tempest_plugin', 'nova_rt.rules', _ANY),
    ('paper', f'nova_rt rt_operate {_AROUND} benchmarks', _ANY),
    ('nova_rt', '', ''),
)


def _modules() -> dict[str, pathlib.Path]:
    modules = {}
    for package in _PACKAGES:
        for path in (_ROOT / package).rglob('*.py'):
            parts = path.relative_to(_ROOT).with_suffix('').parts
            modules['.'.join(part for part in parts
                             if part != '__init__')] = path
    return modules


def _imported(path: pathlib.Path) -> Iterator[str]:
    """Names, also of what is only imported when it is used."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f'{node.module}.{alias.name}'
                        for alias in node.names)


def _is_in(module: str, room: str) -> bool:
    return f'{module}.'.startswith(f'{room}.')


def _line(module: str) -> tuple[str, str, str]:
    """The most precise line of the table for a module."""
    return max((line for line in _FLOORS if _is_in(module, line[0])),
               key=lambda line: len(line[0]))


@ddt.ddt
class ImportsTest(unittest.TestCase):

    modules = _modules()
    graph = {module: set(_imported(path)) for module, path in modules.items()}

    def test_no_circles(self):
        order = graphlib.TopologicalSorter({
            module: (names & self.modules.keys()) - {module}
            for module, names in self.graph.items()})
        order.prepare()

    def _names(self, room: str) -> Iterator[tuple[str, str]]:
        """(module, name that it imports) of the modules of a line."""
        modules = [module for module in self.modules
                   if _line(module)[0] == room]
        self.assertTrue(modules, f'there is no {room}')
        return ((module, name) for module in modules
                for name in sorted(self.graph[module]))

    @ddt.data(*_FLOORS)
    @ddt.unpack
    def test_floors(self, room, ours, packages):
        """Nothing of the project but what the table names."""
        allowed = {room, _EVERYWHERE, *ours.split()}
        wrong = [f'{module} imports {name}'
                 for module, name in self._names(room)
                 if name.partition('.')[0] in _PACKAGES
                 and not any(_is_in(name, one) for one in allowed)]
        self.assertEqual([], wrong)

    def test_services_write_by_privsep(self):
        """The services change policies through the checks of privsep."""
        importers = {module for module, names in self.graph.items()
                     if _WRITES in names and _is_in(module, 'nova_rt')}
        self.assertEqual({'nova_rt.machine.privsep',
                          'nova_rt.machine.privsep.scratch'}, importers)

    @ddt.data(*_FLOORS)
    @ddt.unpack
    def test_other_packages(self, room, ours, packages):
        allowed = {*sys.stdlib_module_names, *_PACKAGES, 'benchmarks',
                   *packages.split()}
        wrong = [f'{module} imports {name}'
                 for module, name in self._names(room)
                 if packages != _ANY
                 and name.partition('.')[0] not in allowed]
        self.assertEqual([], wrong)
