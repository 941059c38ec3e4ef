# SPDX-License-Identifier: Apache-2.0

"""Checks the VNFD of a package as Tacker does when it on-boards the package.

Tacker uses tosca-parser and a few rules of its own.  This module also uses
tosca-parser, if it is installed.  Nothing is fetched: a package that imports
an address is not parsed.
"""

from collections.abc import Iterator, Mapping
import contextlib
import importlib.util
from pathlib import Path
import tempfile
from typing import Any

from tacker_rt import files
from tacker_rt import problem
from tacker_rt.vnfd import parser
from tacker_rt.vnfd import typefiles

_IMAGE = 'tosca.artifacts.nfv.SwImage'
_VNF = 'tosca.nodes.nfv.VNF'


def check(place: problem.Place, entry: str,
          templates: Mapping[str, Mapping[Any, Any]]) -> None:
    """Adds a problem to *place* for all that Tacker would refuse.

    :param place: the place of the package
    :param entry: the path of the entry VNFD in the package
    :param templates: the entry and all files that it imports, by path; other
        templates are ignored
    """
    addresses = any(files.is_address(name) for template in templates.values()
                    for name in typefiles.imports(template))
    if addresses or not importlib.util.find_spec('toscaparser'):
        return
    with tempfile.TemporaryDirectory() as directory, parser.quiet():
        for name, template in templates.items():
            parser.stage(template, name, Path(directory))
        try:
            tosca = _parse(Path(directory) / entry)
        except Exception as error:
            # tosca-parser also raises KeyError, TypeError and the like.
            for line in parser.errors(error):
                place.say(f'tosca-parser refuses the VNFD ({line})',
                          'correct its TOSCA',
                          key=problem.name(entry))
        else:
            _check(place, tosca)


def _parse(path: Path) -> Any:
    from toscaparser import tosca_template
    return tosca_template.ToscaTemplate(str(path), None, True)


def _check(place: problem.Place, tosca: Any) -> None:
    flavours = tosca.nested_tosca_templates_with_topology
    for template in flavours:
        for name, node in (template.tpl.get('node_templates') or {}).items():
            _check_images(place, name, node)
    for node in tosca.nodetemplates:
        _check_images(place, node.name, node.entity_tpl)
    if not any(_is_vnf(node) for node in tosca.nodetemplates):
        place.say(f'no node template has a type derived from {_VNF}',
                  'write such a node template, with the properties of the '
                  'VNF')
    if not any(_has_flavour(template)
               for template in flavours or [tosca.topology_template]):
        place.say('the package has no deployment flavour', 'write flavour_id '
                  'in the properties of the substitution_mappings')


def _is_vnf(node: Any) -> bool:
    """Tells whether the type of a node is VNF or derived directly from it."""
    return any(
        _VNF in (kind, (node.custom_def.get(kind) or {}).get('derived_from'))
        for kind in (body.get('type') for body in node.templates.values())
        if kind in node.custom_def)


def _has_flavour(template: Any) -> bool:
    mappings = template.substitution_mappings
    if mappings and mappings.properties.get('flavour_id'):
        return True
    nodes = (template.tpl.get('node_templates') or {}).values()
    return any((node.get('properties') or {}).get('flavour_id')
               for node in nodes)


def _check_images(place: problem.Place, name: str, node: Mapping[str, Any]
                  ) -> None:
    images = list(_images(node.get('artifacts')))
    if len(images) > 1:
        place.say(f'{problem.name(name)} has {len(images)} artifacts of type '
                  f'{_IMAGE}', 'keep one of them')
    elif images and not (node.get('properties') or {}).get('sw_image_data'):
        place.say(f'{problem.name(name)} has the image {images[0]} but no '
                  'sw_image_data', 'add sw_image_data to its properties')


def _images(artifacts: Any) -> Iterator[str]:
    for name, value in (artifacts or {}).items():
        with contextlib.suppress(AttributeError):
            if isinstance(value, str) or value.get('type') == _IMAGE:
                yield name
