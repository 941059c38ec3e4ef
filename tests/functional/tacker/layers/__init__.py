# SPDX-License-Identifier: Apache-2.0

"""Runs a script of this directory: JSON in, JSON out."""

import json
from pathlib import Path
import subprocess
import sys

_HERE = Path(__file__).parent


class LayerFailed(Exception):
    """The code of Tacker, Heat or Nova refused its input."""


def run(name, cases):
    """Returns the answers of a layer to many cases, in order."""
    done = subprocess.run(
        [sys.executable, _HERE / f'{name}.py'], input=json.dumps(cases),
        capture_output=True, text=True, check=False)
    if done.returncode:
        raise LayerFailed(f'{name}: {done.stderr[-2000:]}')
    return json.loads(done.stdout)
