# SPDX-License-Identifier: Apache-2.0

"""Translates a VNFD into Heat templates, by tosca-parser and heat-translator.

Nothing is sent anywhere.  Our classes are registered with both libraries,
and an error that they raise for a bad VNFD becomes one sentence.
"""

from collections.abc import Mapping
from pathlib import Path
import tempfile
from typing import Any

from tacker_rt import exception
from tacker_rt import files
from tacker_rt import problem
from tacker_rt import request as tacker_request
from tacker_rt.vnfd import descriptor
from tacker_rt.vnfd import legacy_profile
from tacker_rt.vnfd import parser
from tacker_rt.vnfd import typefiles

#: The name of the template that is not nested.
MAIN = 'hot.yaml'

_VERSION = 'tosca_definitions_version'
_LEGACY_PROFILE = 'tosca_simple_profile_for_nfv_1_0_0'
_LEGACY = (_LEGACY_PROFILE, 'tacker_rt_nfv_1_0_0')
_SERVER = 'OS::Nova::Server'
_FLAVOR = 'OS::Nova::Flavor'
#: The text that heat-translator writes for an image of a package.
_NO_IMAGE = '#ADD_YOUR_IMAGE_HERE'


def translate(path: Path, *, inputs: Mapping[str, Any] | None = None,
              image: str | None = None, etsi: Path | None = None,
              request: tacker_request.Request = tacker_request.Request(),
              warnings: list[problem.Problem] | None = None
              ) -> dict[str, dict[str, Any]]:
    """Returns the Heat template :data:`MAIN` and its nested templates.

    :param inputs: values of inputs; the others have their defaults
    :param image: the image of the servers for which the VNFD names none
    :param etsi: the directory of the types of SOL001, by default of Tacker
    :param request: a request whose reservations win over the VNFD
    :param warnings: gets a problem for each part of a legacy VNFD that is
        left out
    :returns: templates by their file name
    :raises InvalidVnfd: when the VNFD cannot be translated
    """
    template = typefiles.load(path)
    descriptor.read_vdus(template, where=path.name, inputs=inputs,
                         request=request.parameters)
    _check_inputs(path, template, inputs or {})
    with tempfile.TemporaryDirectory() as directory, parser.quiet():
        staged = _stage(path, Path(directory), etsi,
                        [] if warnings is None else warnings)
        templates = _run(path, staged, dict(inputs or {}), request)
    for name, template in templates.items():
        _check_name(path, name)
        _check_flavors(path, template)
        _set_image(template, image)
    return templates


def _check_inputs(path: Path, template: Mapping[Any, Any],
                  inputs: Mapping[str, Any]) -> None:
    declared = (template.get('topology_template') or {}).get('inputs') or {}
    for name in inputs.keys() - declared.keys():
        raise exception.InvalidVnfd(problem=problem.Problem(
            path.name, 'the VNFD has no such input',
            problem.nearest(name, declared), key=problem.name(name)))


def _stage(path: Path, directory: Path, etsi: Path | None,
           warnings: list[problem.Problem]) -> Path:
    """Copies all files, each to the path at which imports find it.

    :returns: the path of the VNFD
    """
    sources = typefiles.collect(path.parent, path.name, etsi)
    for name, source in sources.items():
        template = typefiles.load(source)
        if name == path.name:
            _add_legacy_types(directory, template)
            if template.get(_VERSION) in _LEGACY:
                warnings += legacy_profile.leave_out(template, path.name)
        parser.stage(template, name, directory)
    return directory / path.name


def _add_legacy_types(directory: Path, template: dict[Any, Any]) -> None:
    """Adds an import of the legacy types, which legacy VNFDs do not have.

    Tacker added the types itself.
    """
    if (template.get(_VERSION) != _LEGACY_PROFILE
            or typefiles.LEGACY in typefiles.imports(template)):
        return
    (directory / typefiles.LEGACY).write_bytes(
        (typefiles.OURS / typefiles.LEGACY).read_bytes())
    template['imports'] = [typefiles.LEGACY, *(template.get('imports') or ())]


def _run(path: Path, staged: Path, inputs: dict[str, Any],
         request: tacker_request.Request) -> dict[str, dict[str, Any]]:
    # Imported here, because only a Tacker host is sure to have them.
    from toscaparser import tosca_template
    from translator.hot import tosca_translator

    from tacker_rt.heat import plain
    from tacker_rt.heat import reading
    try:
        translator = tosca_translator.TOSCATranslator(
            tosca_template.ToscaTemplate(str(staged), inputs), inputs)
        with reading.use_request(request):
            # The public methods return text in which values have changed.
            translator._translate_to_hot_yaml()
        return {**plain.nested(translator), MAIN: plain.main(translator)}
    except exception.InvalidVnfd:
        raise
    except Exception as error:
        # Both libraries also raise KeyError, TypeError and the like.
        raise exception.InvalidVnfd(problem=problem.Problem(
            path.name, f'the VNFD cannot be translated '
            f'({parser.errors(error)[0]})', 'correct its TOSCA')) from error


def _check_name(path: Path, name: str) -> None:
    """Checks the name of a nested template, which is a scaling aspect.

    heat-translator makes the name.

    :raises InvalidVnfd: when *name* is not a plain file name
    """
    if not files.is_plain(name):
        raise exception.InvalidVnfd(problem=problem.Problem(
            path.name, 'a scaling aspect gives its template this name, which '
            'is not a file name', 'name the aspect with letters and digits',
            key=problem.name(name)))


def _check_flavors(path: Path, template: Mapping[str, Any]) -> None:
    """Checks that each flavor has a number of vCPUs and a memory size.

    Heat does not make a flavor without them.

    :raises InvalidVnfd: when a flavor lacks one
    """
    for name, resource in template['resources'].items():
        properties = resource.get('properties') or {}
        if resource['type'] == _FLAVOR and not (
                {'vcpus', 'ram'} <= properties.keys()):
            raise exception.InvalidVnfd(problem=problem.Problem(
                path.name, 'the VDU does not say how many CPUs and how much '
                'memory it has', 'give the VDU the capability '
                'virtual_compute',
                vdu=name.removesuffix('_flavor')))


def _set_image(template: dict[str, Any], image: str | None) -> None:
    for resource in template['resources'].values():
        if resource['type'] != _SERVER:
            continue
        properties = resource['properties']
        if properties.get('image') == _NO_IMAGE:
            del properties['image']
        if image:
            properties.setdefault('image', image)
