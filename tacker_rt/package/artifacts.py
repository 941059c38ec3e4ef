# SPDX-License-Identifier: Apache-2.0

"""Checks the hashes of artifacts that TOSCA.meta or a manifest lists.

Tacker compares the hashes, except those of images, when a package is
on-boarded.  Artifacts at an address are left to Tacker, because this module
fetches nothing.
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
    """Adds a problem to *place* for each wrong artifact in *text*."""
    for artifact in _blocks(place, text):
        missing = [key for key in _KEYS if not artifact.get(key)]
        source = str(artifact.get(_SOURCE, ''))
        if missing:
            place.say('an artifact lacks this key', 'give Source, Algorithm '
                      'and Hash for each artifact', key=missing[0])
        elif (os.path.splitext(source)[1] not in _IMAGES
              and not files.is_address(source)):
            _check(package, place, artifact)


def _blocks(place: problem.Place, text: str) -> Iterator[dict[Any, Any]]:
    """Yields the artifacts, which blank lines separate."""
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
            place.say('an artifact does not consist of lines KEY: VALUE',
                      'correct these lines')


def _check(package: csar.Package, place: problem.Place,
           artifact: dict[str, str]) -> None:
    source, algorithm, listed = (artifact[key] for key in _KEYS)
    if algorithm.lower() not in _ALGORITHMS:
        place.add(_ALGORITHM, algorithm, 'Tacker does not know this '
                  'algorithm',
                  problem.nearest(algorithm.lower(), _ALGORITHMS))
    elif source not in package.members:
        place.add(_SOURCE, source, 'the package has no such file',
                  'remove the artifact, or add the file')
    else:
        made = hashlib.new(algorithm.lower().replace('-', ''))
        if (package.feed(source, made.update, place.problems)
                and made.hexdigest() != listed):
            place.add(_HASH, listed, f'{problem.name(source)} has another '
                      f'hash', f'write {made.hexdigest()}')
