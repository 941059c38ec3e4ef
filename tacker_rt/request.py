# SPDX-License-Identifier: Apache-2.0

"""The body of a request to Tacker, as far as reservations go.

It is the same JSON that Tacker's API gets to instantiate a VNF or to change
its package.
"""

from collections.abc import Mapping
import dataclasses
import json
from pathlib import Path
from typing import Any

from tacker_rt import exception
from tacker_rt import files
from tacker_rt import problem


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """What was asked for, nothing by default.

    :ivar flavour: the id of a deployment flavour, where it names one
    :ivar parameters: its additionalParams
    """

    flavour: str | None = None
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def of_flavour(self, flavour: str | None) -> Mapping[str, Any]:
        """The parameters, for one deployment flavour of a package."""
        other = None not in (flavour, self.flavour) and (
            flavour != self.flavour)
        return {} if other else self.parameters

    def of_vdu(self, name: str) -> Mapping[str, Any]:
        """The parameters that concern one VDU, as a request has them."""
        place = problem.Place([], '')
        asked = place.section(dict(self.parameters), 'nfv', 'VDU')
        return {'nfv': {'VDU': {name: asked[name]}}} if name in asked else {}


def load(path: Path) -> Request:
    """The request in a file.

    :raises InvalidVnfd: it cannot be read, or is none
    """
    try:
        body = json.loads(files.read(path, path.name))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise _refused(path, 'it is no JSON object',
                       'give the body of a request')
    parameters = body.get('additionalParams') or {}
    flavour = body.get('flavourId')
    if not isinstance(parameters, dict):
        raise _refused(path, 'additionalParams must be an object',
                       'write it as {"nfv": {"VDU": ...}}')
    if not isinstance(flavour, str | None):
        raise _refused(path, 'flavourId must be a text', 'put it in quotes')
    return Request(flavour, parameters)


def _refused(path: Path, rule: str, advice: str) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(
        path.name, rule, advice))
