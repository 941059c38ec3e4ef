# SPDX-License-Identifier: Apache-2.0

"""Reads the code blocks of the installation guide, which tests execute."""

import pathlib
import re
import textwrap

_PAGES = pathlib.Path(__file__).parents[1] / 'doc/source/install'


def blocks(page: str, language: str) -> list[str]:
    """Returns the code blocks of a page in one language, without indent.

    :param page: name of a page below doc/source/install, without .rst
    """
    found = re.findall(
        rf'^( *)\.\. code-block:: {language}\n\n((?:(?:\1   .*)?\n)+)',
        (_PAGES / f'{page}.rst').read_text(), re.MULTILINE)
    return [textwrap.dedent(block).rstrip('\n') + '\n' for _, block in found]
