# SPDX-License-Identifier: Apache-2.0

"""What the pages say: every part that there is, commands that fail aloud."""

import pathlib
import re
import unittest

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

    def test_every_part_is_named(self):
        named = _literals('architecture.rst')
        parts = {*_folders('nova_rt'), *_folders('tacker_rt'),
                 *_folders('.')}
        for folder in parts - {'nova_rt'}:
            self.assertIn(folder, named)

    def test_every_module_of_no_part_is_named(self):
        named = _literals('architecture.rst')
        for module in (_ROOT / 'nova_rt').glob('*.py'):
            self.assertTrue(
                {module.name, f'nova_rt/{module.name}'} & named
                or module.name == '__init__.py', module.name)

    def test_every_tier_is_named(self):
        named = _literals('testing.rst')
        for folder in _folders('tests'):
            self.assertIn(folder, named)

    def test_links_of_the_readme(self):
        """Each leads to a file of the project, or out of it."""
        text = (_ROOT / 'README.rst').read_text()
        targets = re.findall(r'<([^<> ]+)>`_', text)
        self.assertTrue(targets)
        for target in targets:
            if not target.startswith('https://'):
                self.assertTrue((_ROOT / target).is_file(), target)

    def test_properties_of_flavors_are_set_by_a_command_that_fails(self):
        """Where Nova refuses one "flavor create --property" exits with 0."""
        bad = re.compile(r'flavor create (?!-)(?:(?!&&).)*--property')
        pages = [*_ROOT.glob('*.rst'), *(_ROOT / 'doc/source').rglob('*.rst'),
                 *(_ROOT / 'tosca-samples').rglob('*.rst')]
        for page in pages:
            text = re.sub(r'\\\n\s*', '', page.read_text())
            self.assertIsNone(bad.search(text), page)
