# SPDX-License-Identifier: Apache-2.0

"""What Tacker does with the VNFD of a package when it takes it in.

That is tosca-parser, where it is installed, and a few rules of Tacker's own.
Nothing is fetched: a package that imports an address is not parsed.
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
    """Leave in *place*, that of the package, what Tacker would refuse.

    :param entry: the path in the package of the VNFD to begin with
    :param templates: all that it imports, and perhaps more, by path
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
            # Besides its own, it lets KeyError, TypeError ... through.
            for line in parser.errors(error):
                place.say(f'tosca-parser refuses it ({line})',
                          'correct it as TOSCA',
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
        place.say(f'there is no node template of a type {_VNF}',
                  'write one, with the properties of the VNF')
    if not any(_has_flavour(one)
               for one in flavours or [tosca.topology_template]):
        place.say('there is no deployment flavour', 'write flavour_id in '
                  'the properties of the substitution_mappings')


def _is_vnf(node: Any) -> bool:
    """Whether it has the type, or one that is derived from it at once."""
    return any(
        _VNF in (kind, (node.custom_def.get(kind) or {}).get('derived_from'))
        for kind in (one.get('type') for one in node.templates.values())
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
        place.say(f'{problem.name(name)} has the image {images[0]} and no '
                  'sw_image_data', 'write it among its properties')


def _images(artifacts: Any) -> Iterator[str]:
    for name, value in (artifacts or {}).items():
        with contextlib.suppress(AttributeError):
            if isinstance(value, str) or value.get('type') == _IMAGE:
                yield name
