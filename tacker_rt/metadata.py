# SPDX-License-Identifier: Apache-2.0

"""TOSCA.meta, the table of contents of a CSAR."""

import posixpath

from tacker_rt import csar
from tacker_rt import problem

_ENTRY = 'Entry-Definitions'
_SOURCE = 'Source'
_REQUIRED = {'TOSCA-Meta-File-Version': '1.0', 'CSAR-Version': '1.1',
             'Created-By': 'the name of its author',
             _ENTRY: 'Definitions/FILE'}
_FILES = (_ENTRY, _SOURCE, 'ETSI-Entry-Manifest', 'ETSI-Entry-Licenses',
          'ETSI-Entry-Change-Log')


def check(package: csar.Package, found: list[problem.Problem]) -> None:
    """What Tacker needs of it; ``tacker-rt pack`` writes a missing one."""
    if csar.META not in package.members:
        if package.packed:
            problem.Place(found, package.path).say(
                f'{csar.META} is missing', 'make the CSAR with tacker-rt pack')
        return
    data = package.read(csar.META, found)
    if data is None:
        return
    place = problem.Place(found, package.name(csar.META))
    try:
        entries = _entries(place, data.decode())
    except UnicodeDecodeError:
        place.say('it is not UTF-8 text', 'save it as UTF-8')
        return
    for key, example in _REQUIRED.items():
        if not any(name == key and value for name, value in entries):
            place.say('it is missing', f'write {key}: {example}', key=key)
    for key, value in entries:
        if key in _FILES and value:
            _check_file(place, package, key, value)


def _entries(place: problem.Place, text: str) -> list[tuple[str, str]]:
    """Key and value of each line; blank lines part artifacts."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        key, colon, value = line.partition(':')
        if colon:
            entries.append((key.strip(), value.strip().strip('\'"')))
        elif line.strip() and not line.startswith(('#', ' ')):
            place.say('it is not KEY: VALUE', 'correct it',
                      key=f'line {number}')
    return entries


def _check_file(place: problem.Place, package: csar.Package, key: str,
                value: str) -> None:
    path = posixpath.normpath(value)
    if path.startswith(('/', '..')):
        place.add(key, value, 'it leaves the package',
                  'give a path from the top of the package')
    elif path not in package.members and '://' not in value:
        place.add(key, value, 'there is no such file in the package',
                  problem.nearest(value, package.in_folder(csar.DEFINITIONS)))
