# SPDX-License-Identifier: Apache-2.0

"""Writes doc/source/admin/operations.rst from the tests of operations."""

import argparse
import ast
from collections.abc import Iterator
import pathlib
import sys
import textwrap
from typing import NamedTuple

ROOT = pathlib.Path(__file__).parent.parent
TESTS = ('tests/functional', 'tests/cloud')

HEADER = """\
.. SPDX-License-Identifier: Apache-2.0
.. Written by tools/matrix.py from the tests; do not edit.

==========
Operations
==========

This table says what happens to a reservation in each operation on a server,
and names the test that proves it.  After each step, the tests compare the
claims of all computes with those of the servers, with Placement, and with the
budgets in the kernels.  At the end, nothing may be left.  "Real" containers
and virtual machines run on the kernel of the test machine.  All other
operations run on Nova's own fixtures with emulated kernels.

"""

TABLE = """\
.. list-table::
   :header-rows: 1
   :widths: 30 40 30

   * - Operation
     - What happens to the reservation
     - Proven by
"""


class Proof(NamedTuple):
    """One statement that a test proves."""

    operation: str
    result: str
    test: str


def proofs(path: pathlib.Path) -> Iterator[Proof]:
    """Returns the proofs of one test module, in the order of the module."""
    tree = ast.parse(path.read_text(encoding='utf-8'))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for call in node.decorator_list:
                arguments = _arguments(call)
                if arguments:
                    yield Proof(*arguments, f'{path.stem}.{node.name}')


def _arguments(call: ast.expr) -> tuple[str, str] | None:
    if not isinstance(call, ast.Call) or ast.unparse(call.func) not in (
            'proof.proves', 'proves'):
        return None
    operation, result = map(ast.literal_eval, call.args)
    return str(operation), str(result)


def page() -> str:
    """Returns the whole page."""
    proven = [proof for folder in TESTS
              for path in sorted((ROOT / folder).glob('*.py'))
              for proof in proofs(path)]
    rows: dict[tuple[str, str], list[str]] = {}
    for proof in proven:
        rows.setdefault((proof.operation, proof.result), []).append(
            proof.test)
    return HEADER + TABLE + ''.join(
        _cell('   * - ', operation) + _cell('     - ', result)
        + _cell('     - ', ' '.join(f'``{test}``' for test in tests))
        for (operation, result), tests in sorted(rows.items()))


def _cell(start: str, text: str) -> str:
    return textwrap.fill(text, 79, initial_indent=start,
                         subsequent_indent=' ' * len(start),
                         break_long_words=False,
                         break_on_hyphens=False) + '\n'


def main() -> None:
    """Writes the page to a file or to standard output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('file', nargs='?', default=sys.stdout,
                        type=argparse.FileType('w', encoding='utf-8'),
                        help='where to write the page; standard output if '
                             'no file is named')
    parser.parse_args().file.write(page())


if __name__ == '__main__':
    main()
