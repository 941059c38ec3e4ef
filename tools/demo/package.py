# SPDX-License-Identifier: Apache-2.0

"""Makes packages for Tacker from the samples in tosca-samples/."""

from collections.abc import Mapping
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types
from typing import Any

from cloud import settings

SAMPLES = settings.PROJECT / 'tosca-samples'
#: The flavor that the samples name; users of the samples create the flavor.
FLAVOR = 'm1.lxc'
_IMAGE = 'lxc-busybox'
_NOTHING: Mapping[str, str] = types.MappingProxyType({})

TERMINATE: dict[str, Any] = {'terminationType': 'FORCEFUL'}


def request(name: str, operation: str) -> dict[str, Any]:
    """Returns the request of a sample."""
    path = SAMPLES / name / 'requests' / f'{operation}.json'
    return dict(json.loads(path.read_text()))


def packed(name: str, image: str = _IMAGE, folder: str = 'package',
           replaced: Mapping[str, str] = _NOTHING) -> bytes:
    """Returns the CSAR of a sample.

    :param image: the image of its servers instead of an idle container
    :param replaced: texts that replace others in its files
    """
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch, name)
        shutil.copytree(SAMPLES / name / folder, tree)
        for path in tree.rglob('*.yaml'):
            text = path.read_text()
            for old, new in {_IMAGE: image, **replaced}.items():
                text = text.replace(old, new)
            path.write_text(text)
        csar = pathlib.Path(scratch, f'{name}.csar')
        subprocess.run([pathlib.Path(sys.prefix, 'bin', 'tacker-rt'), 'pack',
                        tree, csar], check=True)
        return csar.read_bytes()
