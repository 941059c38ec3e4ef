# SPDX-License-Identifier: Apache-2.0

"""Artifacts that TOSCA.meta or a manifest list, with their hashes.

Tacker compares them when a package is on-boarded, all but images.  Those at
an address are left to it: nothing is fetched here.
"""

from collections.abc import Iterator
import hashlib
import os.path
import re
from typing import Any

import yaml

from tacker_rt import files
from tacker_rt.package import csar
from tacker_rt import problem

_SOURCE, _ALGORITHM, _HASH = _KEYS = ('Source', 'Algorithm', 'Hash')
_ALGORITHMS = ('sha-224', 'sha-256', 'sha-384', 'sha-512')
_IMAGES = frozenset(('.raw', '.vhd', '.vhdx', '.vmdk', '.vdi', '.iso',
                     '.ploop', '.qcow2', '.aki', '.ari', '.ami', '.img'))


def check(package: csar.Package, place: problem.Place, text: str) -> None:
    """Leave a problem in *place* for each artifact that *text* has wrong."""
    for artifact in _blocks(place, text):
        missing = [key for key in _KEYS if not artifact.get(key)]
        source = str(artifact.get(_SOURCE, ''))
        if missing:
            place.say('an artifact lacks it', 'give Source, Algorithm and '
                      'Hash of each', key=missing[0])
        elif (os.path.splitext(source)[1] not in _IMAGES
              and not files.is_address(source)):
            _check(package, place, artifact)


def _blocks(place: problem.Place, text: str) -> Iterator[dict[Any, Any]]:
    """Blank lines part artifacts."""
    for block in re.split(r'\n\n+', text):
        if not re.search(r'^(Algorithm|Hash):', block, re.MULTILINE):
            continue
        try:
            artifact = yaml.load(block, Loader=yaml.BaseLoader)  # noqa: S506
        except yaml.YAMLError:
            artifact = None
        if isinstance(artifact, dict):
            name = artifact.pop('Name', None)
            yield {_SOURCE: name, **artifact} if name else artifact
        else:
            place.say('an artifact is not KEY: VALUE', 'correct it')


def _check(package: csar.Package, place: problem.Place,
           artifact: dict[str, str]) -> None:
    source, algorithm, said = (artifact[key] for key in _KEYS)
    if algorithm.lower() not in _ALGORITHMS:
        place.add(_ALGORITHM, algorithm, 'Tacker does not know it',
                  problem.nearest(algorithm.lower(), _ALGORITHMS))
    elif source not in package.members:
        place.add(_SOURCE, source, 'there is no such file in the package',
                  'remove the artifact, or add the file')
    else:
        made = hashlib.new(algorithm.lower().replace('-', ''))
        if (package.feed(source, made.update, place.found)
                and made.hexdigest() != said):
            place.add(_HASH, said, f'{problem.name(source)} has another one',
                      f'write {made.hexdigest()}')
