# SPDX-License-Identifier: Apache-2.0

"""Tests what HACKING.rst asks of docstrings and can be checked."""

import ast
from collections.abc import Iterator
import pathlib
import unittest

_ROOT = pathlib.Path(__file__).parents[2]
_FOLDERS = ('nova_rt', 'rt_client', 'rt_models', 'rt_monitor', 'rt_operate',
            'rt_probe', 'rt_weighers', 'tacker_rt', 'nova_rt_tempest_plugin',
            'tools', 'paper', 'benchmarks')
_WITH_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef)


def _docstrings() -> Iterator[tuple[str, str]]:
    """(where, docstring) of all that have one; of modules '' for none."""
    for folder in _FOLDERS:
        for path in (_ROOT / folder).rglob('*.py'):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, _WITH_DOCSTRINGS):
                    text = ast.get_docstring(node)
                    if text is not None or isinstance(node, ast.Module):
                        line = getattr(node, 'lineno', 1)
                        yield f'{path}:{line}', text or ''


class DocstringsTest(unittest.TestCase):

    def test_every_module_says_what_lives_there(self):
        self.assertEqual([], [where for where, text in _docstrings()
                              if not text])

    def test_none_begins_in_the_middle_of_a_sentence(self):
        self.assertEqual([], [f'{where}: {text}' for where, text
                              in _docstrings() if text.startswith('Of ')])
