# SPDX-License-Identifier: Apache-2.0

"""Runs rt-probe in a place, and compares its report with the truth."""

import json
import os
import random
import subprocess
import threading
from typing import Any

from tests.full.probe import cells
from tests.full.probe import places
from tests.full.probe import truth


def run(cell: cells.Cell, seed: int, bundle: str) -> truth.Result:
    """Runs the probe in one cell with the random values of a seed."""
    with cell(random.Random(seed)) as place:  # noqa: S311
        with truth.followed(place.used_ns, _favour) as readings:
            said = _once(place, bundle)
    return truth.judge(said, readings, place.limit)


def _favour() -> None:
    """Gives this thread only a high priority."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -20)


def _once(place: places.Place, bundle: str) -> dict[str, Any]:
    done = subprocess.run(
        [*place.prefix, place.python, '-I', '-S', bundle, 'once',
         '--interval', str(truth.SECONDS), *place.options],
        capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f'rt-probe: {done.stderr}')
    said: dict[str, Any] = json.loads(done.stdout)
    return said
