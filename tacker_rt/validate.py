# SPDX-License-Identifier: Apache-2.0

"""Everything that is wrong with a VNFD or a package, in one run."""

from collections.abc import Mapping
import dataclasses
import os
import pathlib
import posixpath
from typing import Any

from tacker_rt import basehot
from tacker_rt import csar
from tacker_rt import exception
from tacker_rt import files
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
    found = [os.path.join(path, name) for name in sorted(os.listdir(path))
             if name.endswith(_YAML)]
    if not found:
        raise _nothing(path, 'it has neither VNFDs nor Definitions')
    return found


def _nothing(path: str, rule: str) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(
        path, rule, 'give a VNFD, the directory of a package, or a CSAR'))


def _check_vnfd(path: str, found: list[problem.Problem]) -> None:
    """With what it imports, as far as that is there."""
    folder, top = os.path.split(path)
    templates: dict[str, Any] = {}
    waiting = [top]
    while waiting:
        file = waiting.pop()
        name = os.path.join(folder, file)
        template = _loaded(name, _read(name, found), found)
        if template is None:
            continue
        templates[name] = template
        for target in _imports(template):
            try:
                there = typefiles.local(pathlib.Path(folder), file, target)
            except exception.InvalidVnfd as error:
                found.append(dataclasses.replace(
                    error.kwargs['problem'], file=name))
                continue
            imported = typefiles.below(file, target)
            if there and os.path.join(folder, imported) not in templates:
                waiting.append(imported)
    found += vnfd.examine(templates)[1]


def _read(path: str, found: list[problem.Problem]) -> bytes | None:
    try:
        return files.read(path, path)
    except exception.InvalidVnfd as error:
        found.append(error.kwargs['problem'])
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
    """Of files; addresses are left to those who may fetch."""
    if not isinstance(template, dict):
        return []
    return [name for name in typefiles.imports(template)
            if not files.is_address(name)]


def _check_package(package: csar.Package, found: list[problem.Problem]
                   ) -> None:
    metadata.check(package, found)
    members = package.in_folder(csar.DEFINITIONS)
    if not members:
        problem.Place(found, package.path).say(
            f'{csar.DEFINITIONS} has no YAML files', 'put the VNFD there')
    templates = {}
    for member in members:
        name = package.name(member)
        template = _loaded(name, package.read(member, found), found)
        if template is not None:
            templates[name] = template
    if package.packed:
        _check_imports(package, templates, found)
    _check_flavours(package, templates, found)


def _check_flavours(package: csar.Package, templates: Mapping[str, Any],
                    found: list[problem.Problem]) -> None:
    flavours = sorted(set(topology.flavours(templates).values()))
    basehot.check_folders(package, flavours, found)
    for flavour in flavours or (None,):
        vdus, problems = vnfd.examine(templates, flavour=flavour)
        found += problems
        if flavour is not None:
            basehot.check(package, flavour, vdus, found)
    if any(member.startswith(csar.BASE_HOT + '/')
           for member in package.members):
        _check_types(templates, found)


def _check_types(templates: Mapping[str, Any], found: list[problem.Problem]
                 ) -> None:
    """The v2 API compares types as text."""
    for part in topology.gather(templates, []).vdus.values():
        if part.type != topology.SOL001_VDU:
            problem.Place(found, part.place.file, part.name).add(
                'type', part.type, 'the v2 API sees no VDU of another type '
                f'than {topology.SOL001_VDU}', 'use that type itself')


def _check_imports(package: csar.Package, templates: Mapping[str, Any],
                   found: list[problem.Problem]) -> None:
    for file, template in templates.items():
        place = problem.Place(found, file)
        folder = posixpath.dirname(file[len(package.path) + 1:])
        for target in _imports(template):
            path = posixpath.normpath(posixpath.join(folder, target))
            if path not in package.members:
                place.add('imports', target, 'there is no such file in the '
                          'package', 'tacker-rt pack adds those of SOL001')
