# SPDX-License-Identifier: Apache-2.0

"""Files of TOSCA types that a VNFD imports, and where they are found.

Next to the VNFD, among ours (package data) or among ETSI's, which are not
ours to hand out: Tacker brings a copy of those.
"""

from collections.abc import Iterable, Iterator, Mapping
import importlib.util
from pathlib import Path
from typing import Any

from tacker_rt import exception
from tacker_rt import problem
from tacker_rt import yamlfile

OURS = Path(__file__).parent / 'defs'
LEGACY = 'tacker_rt_legacy_types.yaml'
POLICIES = 'tacker_rt_policy_types.yaml'
#: Where an installed Tacker has SOL001's types.
_IN_TACKER = 'tests/unit/vnfm/infra_drivers/openstack/data/etsi_nfv'


def load(path: Path) -> dict[Any, Any]:
    """One YAML file, which must be a mapping.

    :raises InvalidVnfd: it cannot be read
    """
    place = problem.Place([], path.name)
    try:
        content = yamlfile.load(place, path.read_bytes())
    except OSError as error:
        place.say(f'it cannot be read ({error.strerror})', 'give a file')
    else:
        if not place.found and not isinstance(content, dict):
            place.say('it is no service template',
                      'it must be a mapping with topology_template')
    if place.found:
        raise exception.InvalidVnfd(problem=place.found[0])
    return content  # type: ignore[no-any-return]


def imports(template: Mapping[Any, Any]) -> Iterator[str]:
    """Names of the files that a service template imports; no URLs."""
    entries = template.get('imports')
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            named = [entry['file']] if 'file' in entry else [
                value.get('file') if isinstance(value, dict) else value
                for value in entry.values()]
        else:
            named = [entry]
        for name in named:
            if isinstance(name, str) and '://' not in name:
                yield name


def of_tacker() -> Path | None:
    """The directory of SOL001's types in an installed Tacker."""
    found = importlib.util.find_spec('tacker')
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / _IN_TACKER


def collect(vnfd: Path, etsi: Path | None = None) -> dict[str, Path]:
    """The VNFD and all that it imports, by the name in the import.

    :param etsi: the directory of SOL001's types, else Tacker's
    :raises InvalidVnfd: a file is nowhere, or cannot be read
    """
    files = {vnfd.name: vnfd}
    waiting = [vnfd]
    while waiting:
        file = waiting.pop()
        for name in imports(load(file)):
            if name in files:
                continue
            files[name] = _find(file, name, etsi)
            waiting.append(files[name])
    return files


def named(vnfd: Path, names: Iterable[str], etsi: Path | None = None
          ) -> dict[str, Path]:
    """Type files by their names, as if the VNFD imported them.

    :raises InvalidVnfd: one of them is nowhere
    """
    return {name: _find(vnfd, name, etsi) for name in names}


def _find(file: Path, name: str, etsi: Path | None) -> Path:
    for place in (file.parent, OURS, etsi or of_tacker()):
        if place and (place / name).is_file():
            return place / name
    raise exception.InvalidVnfd(problem=problem.Problem(
        file.name, 'there is no such file', 'put it next to this one, or '
        'give --etsi-types the directory of the SOL001 types',
        key='imports', value=problem.shown(name)))
