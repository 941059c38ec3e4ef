# SPDX-License-Identifier: Apache-2.0

"""The loop of these scripts: a JSON list in, a list of results out."""

from collections.abc import Callable
import json
import sys
from typing import Any


def serve(examine: Callable[[Any], Any]) -> None:
    """A case that fails is a result, too: {"error": why}."""
    results = []
    for case in json.load(sys.stdin):
        try:
            results.append(examine(case))
        except Exception as error:
            results.append({'error': f'{type(error).__name__}: {error}'})
    json.dump(results, sys.stdout)
