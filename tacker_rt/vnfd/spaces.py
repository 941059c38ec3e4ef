# SPDX-License-Identifier: Apache-2.0

"""Finds characters that libyaml, but not PyYAML, treats as spaces.

Tacker reads descriptors with the parser of PyYAML, which would refuse a
descriptor with such characters, or read it in another way.
"""

from collections.abc import Iterable
import re

import yaml

_BOM = '\ufeff'
_NAMES = {'\t': 'a tab', _BOM: 'a byte order mark'}
_STRANGE = re.compile(f'[{"".join(_NAMES)}]')
#: Where a comment begins, for a parser that only knows spaces.
_COMMENT = re.compile('(?:^| )#')
_TEXT = re.compile('[^\r\n\x85\u2028\u2029]')


def strange(text: str, scalars: Iterable[yaml.ScalarNode]
            ) -> tuple[int, str] | None:
    """Returns the line, from 0, and the name of the first such character.

    :param text: a document that libyaml accepts
    :param scalars: the scalars of the document; within quotes and blocks the
        characters are allowed
    :returns: None if there is no such character
    """
    text = text.removeprefix(_BOM)
    if not _STRANGE.search(text):
        return None
    for line, part in enumerate(_blanked(text, scalars).splitlines()):
        match = _STRANGE.search(_COMMENT.split(part, maxsplit=1)[0])
        if match:
            return line, _NAMES[match[0]]
    return None


def _blanked(text: str, scalars: Iterable[yaml.ScalarNode]) -> str:
    """Returns the text with quoted scalars and blocks blanked out."""
    pieces, end = [], 0
    for node in sorted((scalar for scalar in scalars if scalar.style),
                       key=lambda scalar: int(scalar.start_mark.index)):
        # The node begins with its anchor and tag.
        start = text.index(node.style, node.start_mark.index)
        stop = node.end_mark.index
        pieces += [text[end:start], _TEXT.sub('x', text[start:stop])]
        end = stop
    return ''.join([*pieces, text[end:]])
