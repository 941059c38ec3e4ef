# SPDX-License-Identifier: Apache-2.0

"""Reads and checks TOSCA.meta, the table of contents of a CSAR."""

from tacker_rt import files
from tacker_rt.package import artifacts
from tacker_rt.package import csar
from tacker_rt import problem

_ENTRY = 'Entry-Definitions'
_MANIFEST = 'ETSI-Entry-Manifest'
_FILES = (_ENTRY, _MANIFEST, 'ETSI-Entry-Licenses',
          'ETSI-Entry-Change-Log')


def check(package: csar.Package, problems: list[problem.Problem]) -> None:
    """Checks that TOSCA.meta has what Tacker needs.

    A directory may lack the file, because ``tacker-rt pack`` writes it.
    """
    if csar.META not in package.members:
        if package.packed and entry(package) is None:
            problem.Place(problems, package.path).say(
                f'{csar.META} is missing', 'make the CSAR with tacker-rt pack')
        return
    place = problem.Place(problems, package.name(csar.META))
    text = _text(package, csar.META, problems)
    if text is None:
        return
    entries = _entries(place, text)
    if not dict(entries).get(_ENTRY):
        place.say('the key is missing', f'write {_ENTRY}: Definitions/FILE',
                  key=_ENTRY)
    for key, value in entries:
        if key in _FILES and value:
            _check_file(place, package, key, value)
    artifacts.check(package, place, text)
    manifest = dict(entries).get(_MANIFEST)
    if manifest in package.members:
        _check_manifest(package, manifest, problems)


def entry(package: csar.Package) -> str | None:
    """Returns the entry VNFD: from TOSCA.meta, or the VNFD at the top."""
    if csar.META in package.members:
        text = _text(package, csar.META, []) or ''
        return dict(_entries(problem.Place([], ''), text)).get(_ENTRY)
    tops = package.in_folder('')
    return tops[0] if len(tops) == 1 else None


def manifest(package: csar.Package) -> str | None:
    """Returns the manifest, which lists all files; None without one."""
    if csar.META in package.members:
        text = _text(package, csar.META, []) or ''
        member = dict(_entries(problem.Place([], ''), text)).get(_MANIFEST)
        return member if member in package.members else None
    tops = [member for member in package.members
            if '/' not in member and member.endswith('.mf')]
    return tops[0] if len(tops) == 1 else None


def _text(package: csar.Package, member: str, problems: list[problem.Problem]
          ) -> str | None:
    data = package.read(member, problems)
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        problem.Place(problems, package.name(member)).say(
            'the file is not UTF-8 text', 'save the file as UTF-8')
        return None


def _check_manifest(package: csar.Package, member: str,
                    problems: list[problem.Problem]) -> None:
    place = problem.Place(problems, package.name(member))
    if not member.lower().endswith('.mf'):
        place.say('the name of a manifest must end in .mf',
                  'rename the file')
        return
    text = _text(package, member, problems)
    if text is not None:
        artifacts.check(package, place, text)


def _entries(place: problem.Place, text: str) -> list[tuple[str, str]]:
    """Returns the key and the value of each line."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        key, colon, value = line.partition(':')
        if colon:
            entries.append((key.strip(), value.strip().strip('\'"')))
        elif line.strip() and not line.startswith(('#', ' ')):
            place.say('the line is not KEY: VALUE', 'correct the line',
                      key=f'line {number}')
    return entries


def _check_file(place: problem.Place, package: csar.Package, key: str,
                value: str) -> None:
    if files.is_address(value):
        return
    path = files.below('', value)
    if path is None:
        place.add(key, value, 'the path leads out of the package',
                  'give a path from the top of the package')
    elif path not in package.members:
        place.add(key, value, 'the package has no such file',
                  problem.nearest(value, package.in_folder(csar.DEFINITIONS)))
