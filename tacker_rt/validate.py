# SPDX-License-Identifier: Apache-2.0

"""Everything that is wrong with a VNFD or a package, in one run."""

from collections.abc import Mapping
import os
import posixpath
from typing import Any

from tacker_rt import basehot
from tacker_rt import csar
from tacker_rt import exception
from tacker_rt import metadata
from tacker_rt import problem
from tacker_rt import topology
from tacker_rt import typefiles
from tacker_rt import vnfd
from tacker_rt import yamlfile

_YAML = ('.yaml', '.yml')
_VERSION = 'tosca_definitions_version'


def validate(path: str) -> list[problem.Problem]:
    """Problems of a VNFD, a directory of VNFDs or a package.

    :raises InvalidVnfd: there is nothing to read
    """
    found: list[problem.Problem] = []
    if os.path.isdir(path) and not csar.is_package(path):
        for file in _vnfds(path):
            _check_vnfd(file, found)
    elif os.path.isdir(path) or not path.endswith(_YAML):
        with csar.opened(path, found) as package:
            _check_package(package, found)
    else:
        _check_vnfd(path, found)
    return list(dict.fromkeys(found))


def _vnfds(path: str) -> list[str]:
    files = [os.path.join(path, name) for name in sorted(os.listdir(path))
             if name.endswith(_YAML)]
    if not files:
        raise _nothing(path, 'it has neither VNFDs nor Definitions')
    return files


def _nothing(path: str, rule: str) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(
        path, rule, 'give a VNFD, the directory of a package, or a CSAR'))


def _check_vnfd(path: str, found: list[problem.Problem]) -> None:
    """With what it imports, as far as that is there."""
    files: dict[str, Any] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        template = _loaded(file, _read(file, found), found)
        if template is None:
            continue
        files[file] = template
        for name in _imports(template):
            target = os.path.normpath(
                os.path.join(os.path.dirname(file), name))
            if target not in files and os.path.isfile(target):
                waiting.append(target)
    found += vnfd.examine(files)[1]


def _read(path: str, found: list[problem.Problem]) -> bytes | None:
    try:
        with open(path, 'rb') as stream:
            data = stream.read(csar.MAX_BYTES + 1)
    except OSError as error:
        raise _nothing(path, f'it cannot be read ({error.strerror})'
                       ) from error
    if len(data) <= csar.MAX_BYTES:
        return data
    problem.Place(found, path).say(
        f'it has more than {csar.MAX_BYTES} bytes', 'a descriptor is shorter')
    return None


def _loaded(name: str, data: bytes | None, found: list[problem.Problem]
            ) -> Any:
    """A parsed service template; None where it cannot be parsed."""
    place = problem.Place(found, name)
    template = None if data is None else yamlfile.load(place, data)
    if isinstance(template, dict) and _VERSION not in template:
        place.say('it is missing', 'give it as the first key of a service '
                  'template', key=_VERSION)
    return template


def _imports(template: Any) -> list[str]:
    return (list(typefiles.imports(template)) if isinstance(template, dict)
            else [])


def _check_package(package: csar.Package, found: list[problem.Problem]
                   ) -> None:
    metadata.check(package, found)
    members = package.in_folder(csar.DEFINITIONS)
    if not members:
        problem.Place(found, package.path).say(
            f'{csar.DEFINITIONS} has no YAML files', 'put the VNFD there')
    files = {}
    for member in members:
        name = package.name(member)
        template = _loaded(name, package.read(member, found), found)
        if template is not None:
            files[name] = template
    if package.packed:
        _check_imports(package, files, found)
    _check_flavours(package, files, found)


def _check_flavours(package: csar.Package, files: Mapping[str, Any],
                    found: list[problem.Problem]) -> None:
    flavours = sorted(set(topology.flavours(files).values()))
    basehot.check_folders(package, flavours, found)
    for flavour in flavours or (None,):
        vdus, problems = vnfd.examine(files, flavour=flavour)
        found += problems
        if flavour is not None:
            basehot.check(package, flavour, vdus, found)
    if any(member.startswith(csar.BASE_HOT + '/')
           for member in package.members):
        _check_types(files, found)


def _check_types(files: Mapping[str, Any], found: list[problem.Problem]
                 ) -> None:
    """The v2 API compares types as text."""
    for part in topology.gather(files, []).vdus.values():
        if part.type != topology.SOL001_VDU:
            problem.Place(found, part.place.file, part.name).add(
                'type', part.type, 'the v2 API sees no VDU of another type '
                f'than {topology.SOL001_VDU}', 'use that type itself')


def _check_imports(package: csar.Package, files: Mapping[str, Any],
                   found: list[problem.Problem]) -> None:
    for file, template in files.items():
        place = problem.Place(found, file)
        folder = posixpath.dirname(file[len(package.path) + 1:])
        for target in _imports(template):
            path = posixpath.normpath(posixpath.join(folder, target))
            if path not in package.members:
                place.add('imports', target, 'there is no such file in the '
                          'package', 'tacker-rt pack adds those of SOL001')
