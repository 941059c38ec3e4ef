# SPDX-License-Identifier: Apache-2.0

"""A second, plain reading of accepted descriptors and packages.

Each function gets the case and the last path that the command was given, and
returns the differences, in words.
"""

import zipfile

import yaml

from tacker_rt.vnfd import descriptor
from tacker_rt.vnfd import typefiles
from tests.unit.tacker_rt import oracle

_VNFD = 'Definitions/vnfd.yaml'
_KEYS = (oracle.RUNTIME, oracle.PERIOD)


def _is_open(value):
    return not isinstance(value, int)


def _differ(expected, hints):
    """Returns a sentence for each VDU with wrong hints.

    :param hints: by VDU; those it lacks are not looked at
    """
    return [f'VDU {name}: {hints[name]} for {vdu.numbers} {vdu.about}'
            for name, vdu in expected.items()
            if name in hints and not vdu.agrees(hints[name], _is_open)]


def validated(case, path):
    """Compares the reservations of a valid descriptor or package."""
    if path.suffix == '.csar':
        with zipfile.ZipFile(path) as archive:
            path = case.folder / 'vnfd.yaml'
            path.write_bytes(archive.read(_VNFD))
    elif path.is_dir():
        path /= _VNFD
    template = yaml.safe_load(path.read_bytes())
    vdus = descriptor.read_vdus(typefiles.load(path), where='f')
    expected = oracle.read(template)
    found = _differ(expected, {name: vdu.hints
                               for name, vdu in vdus.items()})
    if vdus.keys() != expected.keys():
        found.append(f'VDUs {sorted(vdus)} for {sorted(expected)}')
    if oracle.lost(template):
        found.append('a reservation is lost')
    return found


def translated(case, path):
    """Compares the reservations in the templates that were written."""
    expected = oracle.read(yaml.safe_load(path.read_bytes()))
    hints = {}
    for file in case.out.iterdir():
        template = yaml.safe_load(file.read_bytes())
        for name in expected.keys() & template['resources'].keys():
            hints[name] = _carried(name, template)
    if hints.keys() != expected.keys():
        return [f'servers {sorted(hints)} for {sorted(expected)}']
    return _differ(expected, hints)


def _carried(name, template):
    """Returns the reservation that a server has by its hints or its flavor."""
    resources = template['resources']
    flavor = resources.get(f'{name}_flavor', {}).get('properties', {})
    said = {key.removeprefix('hw:'): value for key, value in (
        flavor.get('extra_specs') or {}).items()}
    said |= resources[name]['properties'].get('scheduler_hints') or {}
    return {key: _value(said[key], template) for key in _KEYS if key in said}


def _value(value, template):
    """Returns a value; a parameter stands for its default, if it has one."""
    if not isinstance(value, dict):
        return value
    return template['parameters'][value['get_param']].get('default', value)


def packed(case, path):
    """Compares a package's files, or the reservations of a legacy VNFD."""
    source = case.inside / 'package'
    with zipfile.ZipFile(path) as archive:
        if source.is_dir():
            return [f'{file} has changed' for file in source.rglob('*')
                    if file.is_file() and file.read_bytes() != archive.read(
                        file.relative_to(source).as_posix())]
        made = oracle.read(yaml.safe_load(archive.read(_VNFD)))
    return _differ(
        oracle.read(yaml.safe_load((case.inside / 'vnfd.yaml').read_bytes())),
        {name: vdu.numbers for name, vdu in made.items()})


def texts_kept(case, path):
    """Compares random texts of a VNF with the template that is written."""
    given = yaml.safe_load(path.read_text())['topology_template'][
        'node_templates']['VDU_A']
    written = yaml.safe_load((case.out / 'hot.yaml').read_bytes())
    server = written['resources']['VDU_A']['properties']
    return [f'{key} has changed' for key, value in
            given['properties'].items() if server[key] != value
            ] + translated(case, path)
