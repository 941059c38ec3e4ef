# SPDX-License-Identifier: Apache-2.0

"""Tests that turns of phrase that had to be read twice do not come back.

Each pattern stood in a page, a message or a docstring of this project.  The
test reads whole files, so that comments also follow the rule.
"""

import ast
from collections.abc import Iterator
import functools
import pathlib
import re
import unittest

_ROOT = pathlib.Path(__file__).parents[2]
_FOLDERS = ('nova_rt', 'rt_client', 'rt_hcbs', 'rt_models', 'rt_monitor',
            'rt_operate', 'rt_probe', 'rt_weighers', 'tacker_rt',
            'nova_rt_tempest_plugin', 'tools', 'paper', 'benchmarks',
            'doc/source', 'releasenotes/notes', 'tosca-samples',
            'devstack', 'tests')
_SUFFIXES = ('.py', '.rst', '.inc', '.yaml')
#: Python folders without the experiments and benchmarks.
_PRODUCT = _FOLDERS[:11]
#: A phrase, and what plain English says instead.
_PHRASES = (
    (r'\b[Tt]r(y|ies) (on a spare host |out )?(if|whether|how)\b',
     '"tests whether": one tries to do something'),
    (r'\b[Tt]ells (of|that)\b', '"reports", "logs" or "says that"'),
    (r'\bcounts? no more\b', '"no longer counts"'),
    (r'(?<!there )\b(is|are) no (part|list|number|report|guarantee|reason|'
     r'comparison)\b',
     '"is not a ...", unless "there" is the subject'),
    (r'(?<=[.!?\"] )Of (the|two|several|these|those|all|equal|its|QEMU)\b',
     'the subject comes first: "Only one of the two ..."'),
    (r'\b(an earlier|of a|a) look\b', '"a snapshot"'),
    (r'\ball else that\b', '"everything else that"'),
    (r'\bfree of (CUSTOM_|\{)|\banything free of\b',
     '"free CUSTOM_...": "free of" means without'),
    (r'\bat most so many\b', '"the largest number of"'),
    (r'\bFrom this follows\b', '"The consequences are"'),
    (r'\bfor another number\b', '"reads ... as another number"'),
    (r'\bsiblings have one sum\b', '"the threads of a core count together"'),
    (r'\bruns no nova-rt\b', '"runs without nova-rt"'),
    (r'\bguests hold which\b', 'a clause follows its noun'),
    (r'\bsomething else than\b', '"something other than"'),
    (r'\bnone of both\b', '"neither"'),
    (r'\bshall (have|get|be)\b', '"should", or "must" for a rule'),
    (r'\bon which nothing runs that\b', '"that runs nothing that"'),
    (r'\bstays? made\b', '"are not undone"'),
    (r'\bthe part of nova-rt\b', '"nova-rt\'s part of ..."'),
    (r'\bkeeps no (period|promise)\b', '"does not keep"'),
    (r'\bwants? all the time\b', '"always wants the CPU"'),
    (r'\bsays so on standard error\b', '"prints a notice on ..."'),
    (r', of which otherwise\b', '"instead of ... a day"'),
    (r'\b(has|have) (it|them) in (ERROR|state)\b', '"its state is ..."'),
    (r'\b(one|smaller|larger|amounts) of both\b', '"of the two"'),
    (r'\b([Uu]p to|[Aa]fter|[Ii]n|[Oo]f|[Ff]or) so many\b', '"this many"'),
    (r'\bnobody knows any more\b', '"is no longer known"'),
    (r'\banew\b', '"again"'),
    (r'\b[Nn]one where\b', '"if" begins a condition'),
    (r'\bthreads beside\b|\b[Bb]eside other work\b|\bbeside (its|the) vCPUs\b',
     '"other than" and "on a busy machine"'),
    (r', by which\b', 'two sentences'),
    (r':(cvar|ivar|param) \w+: of\b', 'a noun comes first'),
    (r':raises \w+: when (that|this fails|it (does|is|may))\b',
     'the noun instead of "that" and "it"'),
    (r'\brights for that\b|\brun this where\b',
     'the noun instead of "this" and "that"'),
)
#: Names that hide the type of what they name.
_EMPTY_NAMES = frozenset({'found', 'held', 'look', 'seen'})


def _texts(folders: tuple[str, ...], suffixes: tuple[str, ...]
           ) -> Iterator[tuple[pathlib.Path, str]]:
    for folder in folders:
        for path in sorted((_ROOT / folder).rglob('*')):
            if (path.suffix in suffixes and path.is_file()
                    and path != pathlib.Path(__file__)):
                yield path, path.read_text(errors='replace')


@functools.cache
def _joined() -> list[tuple[pathlib.Path, str]]:
    """Returns each file with every run of white space as one space."""
    return [(path, ' '.join(text.split()))
            for path, text in _texts(_FOLDERS, _SUFFIXES)]


def _matches(phrase: str) -> list[str]:
    return [f'{path.relative_to(_ROOT)}: {match[0].strip()}'
            for path, text in _joined()
            for match in re.finditer(phrase, text)]


def _names(tree: ast.AST) -> Iterator[ast.Name | ast.arg]:
    """Yields parameters and local variables, but no fields of classes."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef
                      | ast.Lambda):
            for node in ast.walk(function):
                if (isinstance(node, ast.arg) and node.arg in _EMPTY_NAMES
                        or isinstance(node, ast.Name)
                        and node.id in _EMPTY_NAMES
                        and isinstance(node.ctx, ast.Store)):
                    yield node


class EnglishTest(unittest.TestCase):

    def test_no_phrase_has_to_be_read_twice(self):
        for phrase, instead in _PHRASES:
            with self.subTest(instead):
                self.assertEqual([], _matches(phrase))

    def test_names_of_coroutines_count(self):
        for kind in ('def', 'async def'):
            tree = ast.parse(f'{kind} read(seen):\n    found = seen\n')
            self.assertEqual(2, len(list(_names(tree))), kind)

    def test_names_say_what_they_hold(self):
        self.assertEqual([], [
            f'{path.relative_to(_ROOT)}:{node.lineno}'
            for path, text in _texts(_PRODUCT, ('.py',))
            if any(name in text for name in _EMPTY_NAMES)
            for node in _names(ast.parse(text))])
