# SPDX-License-Identifier: Apache-2.0

"""Tests that the pages name every part, and commands that fail aloud."""

import importlib.metadata
import pathlib
import re
import unittest

from nova_rt.machine.kernel import detect
from tests.emulation import kernels

_ROOT = pathlib.Path(__file__).parents[2]
_CONTRIBUTOR = _ROOT / 'doc/source/contributor'


def _literals(page: str) -> set[str]:
    """All ``literals`` of a page."""
    return set(re.findall('``([^`]+)``', (_CONTRIBUTOR / page).read_text()))


def _folders(of: str) -> list[str]:
    """The packages right in a folder of the project, by their path."""
    return sorted(str(child.parent.relative_to(_ROOT))
                  for child in (_ROOT / of).glob('*/__init__.py'))


class PagesTest(unittest.TestCase):

    def test_every_room_is_named(self):
        named = {name.rstrip('/') for name in _literals('architecture.rst')}
        rooms = {*_folders('nova_rt'), *_folders('.')} - {'nova_rt'}
        self.assertEqual(set(), rooms - named)

    def test_every_module_of_no_room_is_named(self):
        named = _literals('architecture.rst')
        modules = {f'nova_rt/{module.name}'
                   for module in (_ROOT / 'nova_rt').glob('*.py')}
        self.assertEqual(set(), modules - named - {'nova_rt/__init__.py'})

    def test_the_walk_names_files_and_functions_that_exist(self):
        """Each file of the walk, and each function named after the file."""
        text = (_CONTRIBUTOR / 'walk.rst').read_text()
        steps = re.findall(r'``((?:rules|services|machine)/[a-z_/]+\.py)``,'
                           r'\s+``(?:\w+\.)?(\w+)``', text)
        self.assertGreater(len(steps), 15)
        for path, name in steps:
            source = (_ROOT / 'nova_rt' / path).read_text()
            self.assertRegex(source, rf'(def|class) {name}\b', path)

    def test_every_kernel_interface_has_a_page_and_an_emulation(self):
        index = (_ROOT / 'doc/source/kernel/index.rst').read_text()
        emulated = {kind.interface for kind in kernels.KERNELS.values()}
        for name in detect.installed():
            self.assertIn(f':doc:`{name}`', index)
            page = _ROOT / f'doc/source/kernel/{name}.rst'
            self.assertTrue(page.is_file(), page)
            self.assertIn(name, emulated, 'tests/emulation/kernels.py')

    def test_every_packing_policy_is_named_by_its_option(self):
        policies = importlib.metadata.entry_points(group='nova_rt.packing')
        sample = (_ROOT / 'etc/nova-rt.conf').read_text()
        for policy in policies:
            self.assertIn(policy.name, sample)

    def test_every_tier_is_named(self):
        named = _literals('testing.rst')
        for folder in _folders('tests'):
            self.assertIn(folder, named)

    def test_links_of_the_readme(self):
        """Each link leads to a file of the project, or to another site."""
        text = (_ROOT / 'README.rst').read_text()
        targets = re.findall(r'<([^<> ]+)>`_', text)
        self.assertTrue(targets)
        for target in targets:
            if not target.startswith('https://'):
                self.assertTrue((_ROOT / target).is_file(), target)

    def test_properties_of_flavors_are_set_by_a_command_that_fails(self):
        """If Nova refuses a property, "flavor create" still exits with 0."""
        bad = re.compile(r'flavor create (?!-)(?:(?!&&).)*--property')
        pages = [*_ROOT.glob('*.rst'), *(_ROOT / 'doc/source').rglob('*.rst'),
                 *(_ROOT / 'tosca-samples').rglob('*.rst')]
        for page in pages:
            text = re.sub(r'\\\n\s*', '', page.read_text())
            self.assertIsNone(bad.search(text), page)
