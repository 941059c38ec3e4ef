# SPDX-License-Identifier: Apache-2.0

"""Who may import whom, as the page on the architecture has it."""

import ast
from collections.abc import Iterator
import graphlib
import pathlib
import sys
import unittest

import ddt

_ROOT = pathlib.Path(__file__).parents[2]
_SERVICES = 'nova_rt.api nova_rt.scheduler nova_rt.compute nova_rt.virt'
_TOOLS = ('nova_rt.conformance nova_rt.doctor nova_rt.manage nova_rt.cmd '
          'nova_rt.probe')
#: Of these and those below them: no other packages than these.
_PACKAGES = {
    'nova_rt.exception': '',
    'nova_rt.host': '',
    'nova_rt.reservation': '',
    'nova_rt.conflicts': '',
    'nova_rt.workload': '',
    'nova_rt.interference': 'yaml',
    'nova_rt.colocation': 'oslo_privsep yaml',
    'nova_rt.pinning': '',
    'nova_rt.schedulability': '',
    'nova_rt.cpus': '',
    'nova_rt.hostmap': '',
    'nova_rt.packing': '',
    'nova_rt.kernel': '',
    'nova_rt.probe': '',
    'nova_rt.model': 'numpy',
    'nova_rt.monitor': 'networkx opentelemetry requests',
    'nova_rt.privsep': 'oslo_privsep',
    'nova_rt.conf': 'oslo_config',
    'nova_rt.defaults': '',
    'nova_rt.labels': '',
    'nova_rt.doctor': 'oslo_config',
    'tacker_rt.vnfd': 'yaml',
    'tacker_rt.problem': '',
}
#: Of these: nothing of ours beside themselves and the ones named.
_ONLY = {'nova_rt.probe': 'nova_rt.host'}
#: These import none of those.
_NEVER = {
    'nova_rt.host': f'nova_rt.kernel nova_rt.privsep {_SERVICES} {_TOOLS}',
    'nova_rt.privsep': f'nova_rt.kernel {_SERVICES} {_TOOLS}',
    'nova_rt.kernel': f'nova_rt.conf {_SERVICES} {_TOOLS}',
    'nova_rt.model': f'nova_rt.kernel nova_rt.privsep {_SERVICES} {_TOOLS}',
    'nova_rt.interference': (
        f'nova_rt.kernel nova_rt.privsep {_SERVICES} {_TOOLS}'),
    'nova_rt.pinning': f'nova_rt.kernel nova_rt.privsep {_SERVICES} {_TOOLS}',
    'nova_rt.colocation': f'{_SERVICES} {_TOOLS}',
    'nova_rt.monitor': f'nova_rt.privsep {_SERVICES} {_TOOLS}',
    'nova_rt.packing': f'nova_rt.kernel nova_rt.privsep {_SERVICES} {_TOOLS}',
    'nova_rt.api': f'nova_rt.scheduler nova_rt.virt {_TOOLS}',
    'nova_rt.scheduler': f'nova_rt.api nova_rt.virt {_TOOLS}',
    'nova_rt.compute': f'nova_rt.api nova_rt.scheduler nova_rt.virt {_TOOLS}',
    'nova_rt.virt': f'nova_rt.api nova_rt.scheduler {_TOOLS}',
    'nova_rt.doctor': f'nova_rt.manage {_SERVICES}',
    'nova_rt.manage': 'nova_rt.doctor',
    'nova_rt': 'tacker_rt',
    'tacker_rt': _SERVICES,
    'tacker_rt.vnfd': 'tacker_rt.heat tacker_rt.package tacker_rt.userdata',
}


def _modules() -> dict[str, pathlib.Path]:
    found = {}
    for package in ('nova_rt', 'tacker_rt'):
        for path in (_ROOT / package).rglob('*.py'):
            parts = path.relative_to(_ROOT).with_suffix('').parts
            found['.'.join(part for part in parts if part != '__init__')] = (
                path)
    return found


def _imported(path: pathlib.Path) -> Iterator[str]:
    """Names, also of what is only imported when it is used."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f'{node.module}.{each.name}' for each in node.names)


def _is_in(module: str, room: str) -> bool:
    return f'{module}.'.startswith(f'{room}.')


@ddt.ddt
class ImportsTest(unittest.TestCase):

    modules = _modules()
    graph = {module: set(_imported(path)) for module, path in modules.items()}

    def _of(self, room: str) -> dict[str, set[str]]:
        found = {module: names for module, names in self.graph.items()
                 if _is_in(module, room)}
        self.assertTrue(found, f'there is no {room}')
        return found

    def test_no_circles(self):
        order = graphlib.TopologicalSorter({
            module: (names & self.modules.keys()) - {module}
            for module, names in self.graph.items()})
        order.prepare()

    @ddt.data(*_PACKAGES.items())
    @ddt.unpack
    def test_other_packages(self, room, packages):
        allowed = {*sys.stdlib_module_names, *packages.split(), 'nova_rt',
                   'tacker_rt'}
        for module, names in self._of(room).items():
            others = {name.partition('.')[0] for name in names} - allowed
            self.assertEqual(set(), others, module)

    @ddt.data(*_ONLY.items())
    @ddt.unpack
    def test_only(self, room, others):
        """What is bundled runs without the rest of us."""
        for module, names in self._of(room).items():
            wrong = [name for name in names if _is_in(name, 'nova_rt')
                     and not any(_is_in(name, one)
                                 for one in (room, *others.split()))]
            self.assertEqual([], wrong, module)

    @ddt.data(*_NEVER.items())
    @ddt.unpack
    def test_never(self, room, others):
        for module, names in self._of(room).items():
            wrong = [name for name in names for other in others.split()
                     if _is_in(name, other)]
            self.assertEqual([], wrong, module)
