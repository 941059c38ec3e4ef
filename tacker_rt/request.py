# SPDX-License-Identifier: Apache-2.0

"""The parts of a request to Tacker that concern reservations.

The body of a request is the same JSON that Tacker's API gets to instantiate
a VNF or to change its package.
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
    """A request; by default it asks for nothing.

    :ivar flavour: the id of a deployment flavour; None if the request names
        none
    :ivar parameters: the additionalParams of the request
    """

    flavour: str | None = None
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def for_flavour(self, flavour: str | None) -> Mapping[str, Any]:
        """Returns the parameters for one deployment flavour of a package."""
        differs = None not in (flavour, self.flavour) and (
            flavour != self.flavour)
        return {} if differs else self.parameters

    def for_vdu(self, name: str) -> Mapping[str, Any]:
        """Returns the parameters of one VDU in the form of a request."""
        place = problem.Place([], '')
        vdus = place.section(dict(self.parameters), 'nfv', 'VDU')
        return {'nfv': {'VDU': {name: vdus[name]}}} if name in vdus else {}


def load(path: Path) -> Request:
    """Returns the request in a file.

    :raises InvalidVnfd: when the file cannot be read or is not the body of a
        request
    """
    try:
        body = json.loads(files.read(path, path.name))
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise _refused(path, 'the file is not a JSON object',
                       'give the body of a request')
    parameters = body.get('additionalParams') or {}
    flavour = body.get('flavourId')
    if not isinstance(parameters, dict):
        raise _refused(path, 'additionalParams must be an object',
                       'write it as {"nfv": {"VDU": ...}}')
    if not isinstance(flavour, str | None):
        raise _refused(path, 'flavourId must be a string',
                       'put its value in quotes')
    return Request(flavour, parameters)


def _refused(path: Path, rule: str, advice: str) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(
        path.name, rule, advice))
