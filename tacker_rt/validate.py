# SPDX-License-Identifier: Apache-2.0

"""Finds all problems of a VNFD or a package in one run."""

from collections.abc import Mapping
import contextlib
import dataclasses
import os
import pathlib
import posixpath
from typing import Any

from tacker_rt import exception
from tacker_rt import files
from tacker_rt.package import basehot
from tacker_rt.package import csar
from tacker_rt.package import metadata
from tacker_rt.package import onboarding
from tacker_rt.package import references
from tacker_rt import problem
from tacker_rt import request as tacker_request
from tacker_rt.vnfd import descriptor
from tacker_rt.vnfd import policies
from tacker_rt.vnfd import topology
from tacker_rt.vnfd import typefiles
from tacker_rt.vnfd import yamlfile

_YAML = ('.yaml', '.yml')
_VERSION = 'tosca_definitions_version'
_NO_REQUEST = tacker_request.Request()


def validate(path: str, request: tacker_request.Request = _NO_REQUEST,
             root: str | None = None) -> list[problem.Problem]:
    """Returns the problems of a VNFD, a directory of VNFDs or a package.

    :param request: a request that is checked together with the VNFDs
    :param root: the folder that imports of a VNFD may not leave; by default
        the folder of the VNFD
    :raises InvalidVnfd: when there is nothing to read
    """
    problems: list[problem.Problem] = []
    if os.path.isdir(path) and not csar.is_package(path):
        for file in _vnfds(path):
            file_problems: list[problem.Problem] = []
            _check_vnfd(file, request, file_problems, root)
            problems += file_problems
    elif os.path.isdir(path) or not path.endswith(_YAML):
        with csar.opened(path, problems) as package:
            _check_package(package, request, problems)
    else:
        _check_vnfd(path, request, problems, root)
    return list(dict.fromkeys(problems))


def warnings(path: str, request: tacker_request.Request = _NO_REQUEST
             ) -> list[problem.Problem]:
    """Returns the warnings for a package that has no problem.

    :raises InvalidVnfd: when there is nothing to read
    """
    problems: list[problem.Problem] = []
    if path.endswith(_YAML) or (os.path.isdir(path)
                                and not csar.is_package(path)):
        return problems
    with csar.opened(path, []) as package:
        entry = metadata.entry(package)
        templates = _templates(package, entry, [])
        used = {member: templates[member]
                for member in _used(entry, templates)}
        for flavour in _flavours(used):
            vdus, _ = descriptor.examine(
                used, flavour=flavour, request=request.for_flavour(flavour))
            basehot.warn(package, flavour, vdus, problems)
    return problems


def _vnfds(path: str) -> list[str]:
    paths = [os.path.join(path, name) for name in sorted(os.listdir(path))
             if name.endswith(_YAML)]
    if not paths:
        raise _nothing(path, 'the directory has neither VNFDs nor '
                       'Definitions')
    return paths


def _nothing(path: str, rule: str) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(
        path, rule, 'give a VNFD, the directory of a package, or a CSAR'))


def _split(path: str, root: str | None) -> tuple[str, str]:
    """Returns the folder that imports may not leave, and the path in it.

    :raises InvalidVnfd: when the VNFD does not lie in the folder
    """
    if root is None:
        return os.path.split(path)
    top = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
    if files.below('', top) is None:
        raise exception.InvalidVnfd(problem=problem.Problem(
            path, f'the VNFD does not lie below {problem.path(root)}',
            'as --root, give a directory above the VNFD'))
    return root, top


def _check_vnfd(path: str, request: tacker_request.Request,
                problems: list[problem.Problem], root: str | None) -> None:
    """Checks a VNFD and the files that it imports, if they exist."""
    folder, top = _split(path, root)
    templates: dict[str, Any] = {}
    waiting = [top]
    while waiting:
        file = waiting.pop()
        name = os.path.join(folder, file)
        template = _loaded(name, _read(name, problems), problems)
        if template is None:
            continue
        templates[name] = template
        for target in _imports(template):
            try:
                exists = typefiles.local(pathlib.Path(folder), file, target)
            except exception.InvalidVnfd as error:
                problems.append(dataclasses.replace(
                    error.kwargs['problem'], file=name))
                continue
            imported = typefiles.below(file, target)
            if exists and os.path.join(folder, imported) not in templates:
                waiting.append(imported)
    for flavour in _flavours(templates) or (None,):
        problems += descriptor.examine(templates, flavour=flavour,
                                       request=request.for_flavour(flavour))[1]


def _flavours(templates: Mapping[str, Any]) -> list[str]:
    return sorted(set(topology.flavours(templates).values()))


def _read(path: str, problems: list[problem.Problem]) -> bytes | None:
    try:
        return files.read(path, path)
    except exception.InvalidVnfd as error:
        problems.append(error.kwargs['problem'])
        return None


def _loaded(name: str, data: bytes | None, problems: list[problem.Problem]
            ) -> Any:
    """Returns a parsed service template; None if it cannot be parsed."""
    place = problem.Place(problems, name)
    template = None if data is None else yamlfile.load(place, data)
    if isinstance(template, dict) and _VERSION not in template:
        place.say('the key is missing', 'write it as the first key of the '
                  'service template', key=_VERSION)
    return template


def _imports(template: Any) -> list[str]:
    """Returns the files that are imported, without addresses to fetch."""
    if not isinstance(template, dict):
        return []
    return [name for name in typefiles.imports(template)
            if not files.is_address(name)]


def _check_package(package: csar.Package, request: tacker_request.Request,
                   problems: list[problem.Problem]) -> None:
    metadata.check(package, problems)
    entry = metadata.entry(package)
    templates = _templates(package, entry, problems)
    used = _used(entry, templates)
    _check_flavours(package, {package.name(member): templates[member]
                              for member in used}, request, problems)
    _check_policies(package, templates, problems)
    for member in _reached(entry, templates):
        if isinstance(templates[member], dict):
            references.check(package, member, templates[member], problems)
    if not problems and entry in templates:
        onboarding.check(problem.Place(problems, package.path), entry,
                         {**_added(package, templates), **templates})


def _check_policies(package: csar.Package, templates: Mapping[str, Any],
                    problems: list[problem.Problem]) -> None:
    """Checks that the types of our policies are imported.

    If a type is not imported, tosca-parser fails without naming the policy.
    """
    if any(target.endswith(typefiles.POLICIES)
           for template in templates.values()
           for target in _imports(template)):
        return
    parts = topology.gather({package.name(member): template for
                             member, template in templates.items()}, [])
    for policy in parts.policies:
        if policies.is_ours(policy.type) and policy.type not in parts.parents:
            dataclasses.replace(policy.place, problems=problems).add(
                'type', policy.type, 'no imported file defines this type',
                f'import {typefiles.POLICIES}, which tacker-rt pack adds')


def _templates(package: csar.Package, entry: str | None,
               problems: list[problem.Problem]) -> dict[str, Any]:
    """Returns the templates in Definitions and all that they import.

    :returns: templates by their path in the package
    """
    waiting = package.in_folder(csar.DEFINITIONS)
    if entry in package.members and entry not in waiting:
        waiting.append(entry)
    if not waiting:
        problem.Place(problems, package.path).say(
            f'{csar.DEFINITIONS} has no YAML files',
            'put the VNFD into this folder')
    templates: dict[str, Any] = {}
    while waiting:
        member = waiting.pop(0)
        place = problem.Place(problems, package.name(member))
        template = _loaded(
            place.file, package.read(member, problems), problems)
        if template is None or member in templates:
            continue
        templates[member] = template
        for target in _imports(template):
            path = files.below(posixpath.dirname(member), target)
            if path in package.members:
                waiting.append(path)
            elif package.packed or path is None:
                place.add('imports', target, 'the package has no such file',
                          'add the file; tacker-rt pack adds the type files '
                          'of SOL001')
    return templates


def _reached(entry: str | None, templates: Mapping[str, Any]) -> list[str]:
    """Returns the entry and the files that it imports, at any depth."""
    reached = [member for member in templates if member == entry]
    for member in reached:
        folder = posixpath.dirname(member)
        for target in _imports(templates[member]):
            path = files.below(folder, target)
            if path in templates and path is not None and (
                    path not in reached):
                reached.append(path)
    return reached


def _used(entry: str | None, templates: Mapping[str, Any]) -> list[str]:
    """Returns the templates that are in use.

    A template is not in use if the entry imports the flavour of the template
    from another file.
    """
    reached = _reached(entry, templates)
    flavours = topology.flavours(templates)
    imported = {flavours[member] for member in reached
                if member in flavours}
    return [member for member in templates
            if member in reached or flavours.get(member) not in imported]


def _added(package: csar.Package, templates: Mapping[str, Any]
           ) -> dict[str, Any]:
    """Returns the files that ``tacker-rt pack`` would add to a directory.

    Files that cannot be found are left out.
    """
    added: dict[str, Any] = {}
    if package.packed:
        return added
    with contextlib.suppress(exception.InvalidVnfd):
        for member in templates:
            for path, file in typefiles.collect(
                    pathlib.Path(package.path), member).items():
                added[path] = typefiles.load(file)
    return added


def _check_flavours(package: csar.Package, templates: Mapping[str, Any],
                    request: tacker_request.Request,
                    problems: list[problem.Problem]) -> None:
    flavours = _flavours(templates)
    basehot.check_folders(package, flavours, problems)
    for flavour in flavours or (None,):
        vdus, own_problems = descriptor.examine(
            templates, flavour=flavour, request=request.for_flavour(flavour))
        problems += own_problems
        basehot.check_absent(package, vdus, problems)
        if flavour is not None:
            basehot.check(package, flavour, vdus, problems)
    if any(member.startswith(csar.BASE_HOT + '/')
           for member in package.members):
        _check_types(templates, problems)


def _check_types(templates: Mapping[str, Any], problems: list[problem.Problem]
                 ) -> None:
    """Checks the types of VDUs, which the v2 API compares as text."""
    for part in topology.gather(templates, []).vdus.values():
        if part.type != topology.SOL001_VDU:
            problem.Place(problems, part.place.file, part.name).add(
                'type', part.type, 'the v2 API only recognizes VDUs of the '
                f'type {topology.SOL001_VDU}', 'use this type itself, not a '
                'type derived from it')
