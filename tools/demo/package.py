# SPDX-License-Identifier: Apache-2.0

"""The VNF packages of tosca-samples/, as Tacker takes them."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from cloud import settings

SAMPLES = settings.PROJECT / 'tosca-samples'
#: What the samples name; who uses them creates it.
FLAVOR = 'm1.lxc'
_IMAGE = 'lxc-busybox'

TERMINATE: dict[str, Any] = {'terminationType': 'FORCEFUL'}


def request(name: str, operation: str) -> dict[str, Any]:
    """What a sample asks Tacker for."""
    path = SAMPLES / name / 'requests' / f'{operation}.json'
    return dict(json.loads(path.read_text()))


def packed(name: str, image: str = _IMAGE) -> bytes:
    """The CSAR of a sample.

    :param image: what its servers run instead of an idle container
    """
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch, name)
        shutil.copytree(SAMPLES / name / 'package', tree)
        for path in tree.rglob('*.yaml'):
            text = path.read_text()
            if _IMAGE in text:
                path.write_text(text.replace(_IMAGE, image))
        csar = pathlib.Path(scratch, f'{name}.csar')
        subprocess.run([pathlib.Path(sys.prefix, 'bin', 'tacker-rt'), 'pack',
                        tree, csar], check=True)
        return csar.read_bytes()
