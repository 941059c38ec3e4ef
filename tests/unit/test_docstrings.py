# SPDX-License-Identifier: Apache-2.0

"""Tests what HACKING.rst asks of docstrings and can be checked."""

import ast
from collections.abc import Iterator
import functools
import pathlib
import re
import unittest

_ROOT = pathlib.Path(__file__).parents[2]
_FOLDERS = ('nova_rt', 'rt_client', 'rt_hcbs', 'rt_models', 'rt_monitor',
            'rt_operate', 'rt_probe', 'rt_weighers', 'tacker_rt',
            'nova_rt_tempest_plugin', 'tools', 'paper', 'benchmarks')
_WITH_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef,
                    ast.AsyncFunctionDef)
#: Words that begin a docstring without a subject.
_NO_SUBJECT = re.compile('(What|Where|How|That|Those|Which|Whether|Why|Of) ')
#: Words for a thing that only another docstring, or the name of a test, names.
_NO_NAME = re.compile("(It|Its|They|Their|Theirs|Them|These|This one|Such|Nor|"
                      "And|Else|Who|Whatever|Neither)\\b")


def _docstrings(folder: str) -> Iterator[tuple[str, str]]:
    """Yields (place, docstring) of all that have one; '' for a module."""
    for path in (_ROOT / folder).rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, _WITH_DOCSTRINGS):
                text = ast.get_docstring(node)
                if text is not None or isinstance(node, ast.Module):
                    name = getattr(node, 'name', '')
                    line = getattr(node, 'lineno', 1)
                    yield f'{path}:{line} {name}', text or ''


@functools.cache
def _product() -> list[tuple[str, str]]:
    return [each for folder in _FOLDERS for each in _docstrings(folder)]


class DocstringsTest(unittest.TestCase):

    def test_every_module_says_what_lives_there(self):
        self.assertEqual([], [where for where, text in _product()
                              if not text])

    def test_none_begins_in_the_middle_of_a_sentence(self):
        self.assertEqual([], [
            f'{where}: {text}' for where, text
            in [*_product(), *_docstrings('tests')]
            if _NO_SUBJECT.match(text) and ' test_' not in where])

    def test_none_begins_with_an_unnamed_thing(self):
        self.assertEqual([], [
            f'{where}: {text}' for where, text
            in [*_product(), *_docstrings('tests')] if _NO_NAME.match(text)])
