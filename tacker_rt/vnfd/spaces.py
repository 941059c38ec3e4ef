# SPDX-License-Identifier: Apache-2.0

"""Characters that libyaml takes as spaces, and PyYAML's own parser does not.

Tacker reads descriptors with the latter, so that a descriptor which only
libyaml takes would be refused there, or read otherwise.
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
    """The line, from 0, and the name of the first such character.

    :param text: a document that libyaml takes
    :param scalars: those in it; what is within quotes or blocks is text
    """
    text = text.removeprefix(_BOM)
    if not _STRANGE.search(text):
        return None
    for line, part in enumerate(_blanked(text, scalars).splitlines()):
        found = _STRANGE.search(_COMMENT.split(part, maxsplit=1)[0])
        if found:
            return line, _NAMES[found[0]]
    return None


def _blanked(text: str, scalars: Iterable[yaml.ScalarNode]) -> str:
    """The text without what is quoted or stands in blocks."""
    pieces, end = [], 0
    for node in sorted((one for one in scalars if one.style),
                       key=lambda one: int(one.start_mark.index)):
        # The node begins with its anchor and tag.
        start = text.index(node.style, node.start_mark.index)
        stop = node.end_mark.index
        pieces += [text[end:start], _TEXT.sub('x', text[start:stop])]
        end = stop
    return ''.join([*pieces, text[end:]])
