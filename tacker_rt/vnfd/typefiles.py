# SPDX-License-Identifier: Apache-2.0

"""Files of TOSCA types that a VNFD imports, and where they are found.

Next to the VNFD, among ours (package data) or among ETSI's, which are not
ours to hand out: Tacker brings a copy of those.
"""

from collections.abc import Iterable, Iterator, Mapping
import importlib.util
from pathlib import Path
import posixpath
from typing import Any

from tacker_rt import exception
from tacker_rt import files
from tacker_rt import problem
from tacker_rt.vnfd import yamlfile

OURS = Path(__file__).parents[1] / 'defs'
LEGACY = 'tacker_rt_legacy_types.yaml'
POLICIES = 'tacker_rt_policy_types.yaml'
#: Where an installed Tacker has SOL001's types.
_IN_TACKER = 'tests/unit/vnfm/infra_drivers/openstack/data/etsi_nfv'


def load(path: Path) -> dict[Any, Any]:
    """One YAML file, which must be a mapping.

    :raises InvalidVnfd: it cannot be read
    """
    place = problem.Place([], path.name)
    content = yamlfile.load(place, files.read(path, path.name))
    if not place.found and not isinstance(content, dict):
        place.say('it is no service template',
                  'it must be a mapping with topology_template')
    if place.found:
        raise exception.InvalidVnfd(problem=place.found[0])
    return content  # type: ignore[no-any-return]


def imports(template: Mapping[Any, Any]) -> Iterator[str]:
    """Names of the files that a service template imports, and addresses.

    That of a file in a repository is an address.
    """
    for entry in _entries(template):
        name = entry.get('file')
        if isinstance(name, str):
            yield (f'{entry["repository"]}:{name}' if 'repository' in entry
                   else name)


def pointed(template: Mapping[Any, Any], file: str, directory: Path
            ) -> list[dict[str, Any]]:
    """The imports of *file* as they find files that are in *directory*."""
    return [{f'import_{number}': {
        **entry, 'file': str(directory / below(file, entry['file']))}}
        for number, entry in enumerate(_entries(template))]


def _entries(template: Mapping[Any, Any]) -> Iterator[Mapping[Any, Any]]:
    """Each import as a mapping with file, whatever the notation."""
    listed = template.get('imports')
    for entry in listed if isinstance(listed, list) else ():
        named = isinstance(entry, dict) and 'file' not in entry
        for value in entry.values() if named else [entry]:
            yield value if isinstance(value, dict) else {'file': value}


def _check(file: str, template: Mapping[Any, Any]) -> None:
    listed = template.get('imports')
    if listed is not None and not (isinstance(listed, list) and all(
            isinstance(entry.get('file'), str)
            for entry in _entries(template))):
        raise _refused(file, listed, 'it must be a list of files',
                       'write - FILE')


def of_tacker() -> Path | None:
    """The directory of SOL001's types in an installed Tacker."""
    found = importlib.util.find_spec('tacker')
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / _IN_TACKER


def collect(folder: Path, name: str, etsi: Path | None = None
            ) -> dict[str, Path]:
    """A VNFD and all that it imports.

    :param folder: nothing outside of it is read, but types of ours and ETSI
    :param name: the path of the VNFD below *folder*
    :param etsi: the directory of SOL001's types, else Tacker's
    :returns: files by the path below *folder* at which an import finds them
    :raises InvalidVnfd: an import leads elsewhere or nowhere, or a file
        cannot be read
    """
    found = {name: folder / name}
    waiting = [name]
    while waiting:
        file = waiting.pop()
        template = load(found[file])
        _check(file, template)
        for target in imports(template):
            path = below(file, target)
            if path not in found:
                found[path] = (local(folder, file, target)
                               or _known(file, target, etsi))
                waiting.append(path)
    return found


def below(file: str, target: str) -> str:
    """The path of what *file* imports.

    :raises InvalidVnfd: it would not be below the folder
    """
    if files.is_address(target):
        raise _refused(file, target, 'it is an address, and nothing is '
                       'fetched', 'put a copy next to the VNFD')
    path = files.below(posixpath.dirname(file), target)
    if path is None:
        raise _leads_out(file, target)
    return path


def local(folder: Path, file: str, target: str) -> Path | None:
    """What *file* imports, where that is below *folder*, or nowhere there.

    :raises InvalidVnfd: it leads out of *folder*, by name or by a link
    """
    path = folder / below(file, target)
    if not path.is_file():
        return None
    if not path.resolve().is_relative_to(folder.resolve()):
        raise _leads_out(file, target)
    return path


def named(names: Iterable[str], etsi: Path | None = None
          ) -> dict[str, Path]:
    """Type files of ours and ETSI by their names.

    :raises InvalidVnfd: one of them is nowhere
    """
    return {name: _known(name, name, etsi) for name in names}


def _known(file: str, target: str, etsi: Path | None) -> Path:
    for place in (OURS, etsi or of_tacker()):
        if place and files.is_plain(target) and (place / target).is_file():
            return place / target
    raise _refused(file, target, 'there is no such file', 'put it next to '
                   'this one, or give --etsi-types the directory of the '
                   'SOL001 types')


def _leads_out(file: str, target: str) -> exception.InvalidVnfd:
    return _refused(file, target, 'it leads out of the folder of the VNFD',
                    'give a path below it')


def _refused(file: str, target: Any, rule: str, advice: str
             ) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(
        file, rule, advice, key='imports', value=problem.shown(target)))
