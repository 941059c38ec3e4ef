# SPDX-License-Identifier: Apache-2.0

"""Finds the files of TOSCA types that a VNFD imports.

The files are in the folder of the VNFD, in this package, or in Tacker's copy
of the files of ETSI.  This project may not distribute the files of ETSI.
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
#: The directory of the types of SOL001 in an installed Tacker.
_IN_TACKER = 'tests/unit/vnfm/infra_drivers/openstack/data/etsi_nfv'


def load(path: Path) -> dict[Any, Any]:
    """Returns the content of a YAML file, which must be a mapping.

    :raises InvalidVnfd: when the file is not a mapping, or cannot be read
    """
    place = problem.Place([], path.name)
    content = yamlfile.load(place, files.read(path, path.name))
    if not place.problems and not isinstance(content, dict):
        place.say('the file is not a service template',
                  'write a mapping with topology_template')
    if place.problems:
        raise exception.InvalidVnfd(problem=place.problems[0])
    return content  # type: ignore[no-any-return]


def imports(template: Mapping[Any, Any]) -> Iterator[str]:
    """Yields the files and addresses that a service template imports.

    A file in a repository counts as an address.
    """
    for entry in _entries(template):
        name = entry.get('file')
        if isinstance(name, str):
            yield (f'{entry["repository"]}:{name}' if 'repository' in entry
                   else name)


def absolute_imports(template: Mapping[Any, Any], file: str, directory: Path
                     ) -> list[dict[str, Any]]:
    """Returns the imports of *file*, with paths in *directory*."""
    return [{f'import_{number}': {
        **entry, 'file': str(directory / below(file, entry['file']))}}
        for number, entry in enumerate(_entries(template))]


def _entries(template: Mapping[Any, Any]) -> Iterator[Mapping[Any, Any]]:
    """Yields each import as a mapping with the key file.

    TOSCA has several notations.
    """
    listed = template.get('imports')
    for entry in listed if isinstance(listed, list) else ():
        has_name = isinstance(entry, dict) and 'file' not in entry
        for value in entry.values() if has_name else [entry]:
            yield value if isinstance(value, dict) else {'file': value}


def _check(file: str, template: Mapping[Any, Any]) -> None:
    listed = template.get('imports')
    if listed is not None and not (isinstance(listed, list) and all(
            isinstance(entry.get('file'), str)
            for entry in _entries(template))):
        raise _refused(file, listed, 'imports must be a list of files',
                       'write - FILE')


def tacker_directory() -> Path | None:
    """Returns the directory of the types of SOL001 in Tacker.

    :returns: None if Tacker is not installed
    """
    spec = importlib.util.find_spec('tacker')
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / _IN_TACKER


def collect(folder: Path, name: str, etsi: Path | None = None
            ) -> dict[str, Path]:
    """Returns a VNFD and all files that it imports.

    :param folder: the folder of the files; outside of it only our types and
        ETSI's types are read
    :param name: the path of the VNFD below *folder*
    :param etsi: the directory of the types of SOL001, by default of Tacker
    :returns: files by the path below *folder* at which an import finds them
    :raises InvalidVnfd: when an import leads out of the folder or to no
        file, or when a file cannot be read
    """
    paths = {name: folder / name}
    waiting = [name]
    while waiting:
        file = waiting.pop()
        template = load(paths[file])
        _check(file, template)
        for target in imports(template):
            path = below(file, target)
            if path not in paths:
                paths[path] = (local(folder, file, target)
                               or _type_file(file, target, etsi))
                waiting.append(path)
    return paths


def below(file: str, target: str) -> str:
    """Returns the path of an import of *file*, below the folder.

    :raises InvalidVnfd: when the path leads out of the folder
    """
    if files.is_address(target):
        raise _refused(file, target, 'this is an address, and tacker-rt '
                       'fetches nothing', 'put a copy of the file next to '
                       'the VNFD')
    path = files.below(posixpath.dirname(file), target)
    if path is None:
        raise _leads_out(file, target)
    return path


def local(folder: Path, file: str, target: str) -> Path | None:
    """Returns the path of an import of *file*, if it exists in *folder*.

    :raises InvalidVnfd: when the path leads out of *folder*, by its name or
        by a link
    """
    path = folder / below(file, target)
    if not path.is_file():
        return None
    if not path.resolve().is_relative_to(folder.resolve()):
        raise _leads_out(file, target)
    return path


def find_by_name(names: Iterable[str], etsi: Path | None = None
                 ) -> dict[str, Path]:
    """Returns our type files and those of ETSI by their names.

    :raises InvalidVnfd: when a file does not exist
    """
    return {name: _type_file(name, name, etsi) for name in names}


def _type_file(file: str, target: str, etsi: Path | None) -> Path:
    for place in (OURS, etsi or tacker_directory()):
        if place and files.is_plain(target) and (place / target).is_file():
            return place / target
    raise _refused(file, target, 'the imported file does not exist', 'put '
                   'it next to the file that imports it, or give the '
                   'directory of the SOL001 types as --etsi-types')


def _leads_out(file: str, target: str) -> exception.InvalidVnfd:
    return _refused(file, target, 'the path leads out of the folder of the '
                    'VNFD', 'give a path below this folder')


def _refused(file: str, target: Any, rule: str, advice: str
             ) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(
        file, rule, advice, key='imports', value=problem.shown(target)))
