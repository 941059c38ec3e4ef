# SPDX-License-Identifier: Apache-2.0

"""Compares the Heat templates of a package with what its VDUs ask for.

Tacker's v2 API takes the first template in ``BaseHOT/<flavour id>``, takes
nested templates by their names, and finds the server of a VDU by the name of
the VDU.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from nova_rt.rules import exception as rt_exception
from nova_rt.rules import reservation as nova_reservation

from tacker_rt.heat import syntax
from tacker_rt.package import csar
from tacker_rt import problem
from tacker_rt.vnfd import descriptor
from tacker_rt.vnfd import yamlfile

_NESTED = ('.yaml', '.yml')
_HINTS = 'scheduler_hints'

#: Names of folders whose files are not for Heat.
_OTHER_TOOLS = frozenset(('helm', 'kubernetes', 'terraform'))

Vdus = Mapping[str, descriptor.Vdu]
_QUIET = problem.Place([], '')


def check_folders(package: csar.Package, flavours: list[str],
                  problems: list[problem.Problem]) -> None:
    """Checks that each flavour has a folder of templates, and vice versa."""
    prefix = csar.BASE_HOT + '/'
    folders = {member.split('/')[1] for member in package.members
               if member.startswith(prefix) and member.count('/') > 1}
    for folder in sorted(folders - set(flavours)):
        problem.Place(problems, package.name(prefix + folder)).say(
            'Definitions has no deployment flavour of this name',
            problem.nearest(folder, flavours))
    for flavour in sorted(set(flavours) - folders) if folders else ():
        problem.Place(problems, package.name(prefix + flavour)).say(
            'the deployment flavour has no template',
            'put a template into this folder')


def check(package: csar.Package, flavour: str, vdus: Vdus,
          problems: list[problem.Problem]) -> None:
    """Checks the templates of one deployment flavour, if there are any."""
    folder = f'{csar.BASE_HOT}/{flavour}'
    tops = package.in_folder(folder)
    nested = package.in_folder(folder + '/nested')
    if not tops and not nested:
        return
    if len(tops) != 1:
        problem.Place(problems, package.name(folder)).say(
            f'the folder has {len(tops)} templates, but Tacker takes only '
            f'one of them', 'keep one template in the folder, and move the '
            'templates that it uses to the folder nested')
    servers: set[str] = set()
    flavors: set[str] = set()
    files = {member.rpartition('/')[2] for member in nested}
    for member in (*tops, *nested):
        place = problem.Place(problems, package.name(member))
        data = package.read(member, problems)
        template = data and yamlfile.load(place, data)
        if isinstance(template, dict):
            servers |= _check_template(place, template, vdus, files)
            flavors |= {name for name, _ in syntax.flavor_uses(template)
                        if member in tops and isinstance(name, str)}
        elif template is not None:
            place.say('the file is not a Heat template',
                      'write the template as a mapping')
    for vdu in vdus.values() if tops else ():
        if vdu.hints:
            _check_vdu(problem.Place(problems, package.name(folder), vdu.name),
                       vdu, servers, flavors)


def warn(package: csar.Package, flavour: str, vdus: Vdus,
         warnings: list[problem.Problem]) -> None:
    """Warns if a request without user data would lose a reservation."""
    folder = f'{csar.BASE_HOT}/{flavour}'
    tops = package.in_folder(folder)
    if len(tops) != 1:
        return
    top, *nested = [
        yamlfile.load(_QUIET, package.read(member, []) or b'')
        for member in (*tops, *package.in_folder(folder + '/nested'))]
    if not isinstance(top, dict) or syntax.is_guard(
            _QUIET.section(top, 'resources').get(syntax.GUARD)):
        return
    carried = {name for template in (top, *nested)
               if isinstance(template, dict)
               for name, resource in _resources(_QUIET, template)
               if _QUIET.section(resource, 'properties', _HINTS).keys()
               >= set(nova_reservation.KEYS)}
    lost = [vdu.name for vdu in vdus.values()
            if vdu.hints and vdu.name not in carried]
    for name in lost[:1]:
        problem.Place(warnings, package.name(tops[0]), name).say(
            'a request that names no user data silently deploys the VDU '
            'without its reservation', 'add the resource '
            f'{syntax.GUARD}, so that Heat refuses the request')


def _check_vdu(place: problem.Place, vdu: descriptor.Vdu, servers: set[str],
               flavors: set[str]) -> None:
    """Checks that the templates have all that a reserved VDU needs."""
    if vdu.name not in servers:
        place.say(f'no {syntax.SERVER} has the name of the VDU',
                  f'name the server {vdu.name}')
    if vdu.in_flavor and vdu.name not in flavors:
        place.say('no server can use the flavor that carries the '
                  'reservation: no server takes its flavor from [nfv, VDU, '
                  f'{problem.name(vdu.name)}, {syntax.FLAVOR_PARAMETER}]',
                  'let the server take its flavor from this parameter, or use '
                  'the carrier hints')
    for name in vdu.open_inputs:
        place.say(f'the input {problem.name(name)} of the reservation has no '
                  f'value', 'give the input a default')


def check_absent(package: csar.Package, vdus: Vdus,
                 problems: list[problem.Problem]) -> None:
    """Checks that a package without templates for Heat reserves nothing.

    Only heat-translator would read the reservations of such a package.
    """
    words = {word for member in package.members
             for word in member.lower().split('/')[:-1]}
    if words.isdisjoint(_OTHER_TOOLS) or any(
            member.startswith(csar.BASE_HOT + '/')
            for member in package.members):
        return
    for vdu in vdus.values():
        if vdu.hints:
            problem.Place(problems, package.path, vdu.name).say(
                f'the reservation has no effect: the package has no '
                f'{csar.BASE_HOT}, and Terraform, Helm and Kubernetes do '
                'not know reservations', 'remove the reservation')


def _check_template(place: problem.Place, template: dict[Any, Any],
                    vdus: Vdus, files: set[str]) -> set[str]:
    """Checks a template and returns the names of its servers."""
    servers = set()
    for name, resource in _resources(place, template):
        kind = resource.get('type')
        if kind == syntax.SERVER:
            servers.add(name)
            _check_server(place.for_vdu(name), resource, vdus)
        elif (isinstance(kind, str) and kind.endswith(_NESTED)
              and kind not in files):
            place.add(f'{name}.type', kind, 'the folder nested has no such '
                      'file', problem.nearest(kind, files))
    return servers


def _resources(place: problem.Place, template: dict[Any, Any]
               ) -> Iterator[tuple[str, dict[Any, Any]]]:
    """Yields all resources, also those that a scaling group repeats."""
    for key, resource in place.section(template, 'resources').items():
        if not isinstance(resource, dict):
            place.add(key, resource, 'the value must be a mapping',
                      'indent the keys of the mapping below its name')
            continue
        yield str(key), resource
        member = syntax.GROUPS.get(str(resource.get('type')))
        if member:
            yield str(key), place.section(resource, 'properties', member)


def _check_server(place: problem.Place, resource: dict[Any, Any],
                  vdus: Vdus) -> None:
    vdu = vdus.get(place.vdu or '')
    if vdu is None:
        place.for_vdu(None).say('no VDU has the name of this server',
                                problem.nearest(place.vdu, vdus),
                                key=problem.name(place.vdu))
        return
    hints = place.section(resource, 'properties', _HINTS)
    hints_about_cpus = {key: value for key, value in hints.items()
                        if isinstance(key, str)
                        and key.startswith(nova_reservation.HINT_PREFIX)}
    for key, value in hints_about_cpus.items():
        _check_hint(place, vdu, key, value)


def _check_hint(place: problem.Place, vdu: descriptor.Vdu, key: str, value: Any
                ) -> None:
    """Checks that a hint equals the VNFD; a hint may be a parameter."""
    if vdu.carrier is descriptor.Carrier.FLAVOR:
        place.add(key, value, 'the request says that the flavor carries the '
                  'reservation', 'remove the hint')
    elif key not in nova_reservation.KEYS:
        place.add(key, value, 'there is no such hint',
                  problem.nearest(key, nova_reservation.KEYS))
    elif not isinstance(value, dict):
        _check_literal(place, vdu, key, value)


def _check_literal(place: problem.Place, vdu: descriptor.Vdu, key: str,
                   value: Any) -> None:
    try:
        number = nova_reservation.parse('', key, value)
    except rt_exception.InvalidReservation as error:
        place.add(key, value, error.kwargs['rule'], error.kwargs['advice'])
        return
    wanted = vdu.hints.get(key)
    if wanted is None and not vdu.hints:
        place.add(key, value, 'the VNFD has no reservation for this VDU',
                  'add the reservation to the VNFD, or remove the hint from '
                  'the template')
    elif isinstance(wanted, int) and wanted != number:
        place.add(key, value, f'the VNFD says {wanted}',
                  'remove the hint here; tacker_rt sets the hint')
