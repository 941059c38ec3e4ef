# SPDX-License-Identifier: Apache-2.0

"""What requests ask for: ``nfv.VDU.<vdu>`` of their additionalParams.

Several may speak of one VNF: what is kept of those before, the request of
now, and the grant of it.  A later one wins key by key, and null in it takes
back what those before it asked for.
"""

from collections.abc import Iterable, Iterator, Mapping
import dataclasses
from typing import Any

from tacker_rt import problem
from tacker_rt.vnfd import inputs as tosca_inputs
from tacker_rt.vnfd import statements
from tacker_rt.vnfd import topology
from tacker_rt.vnfd import unread

REQUEST = 'additionalParams'
GRANT = 'additionalParams of the grant'
KEPT = 'kept with the stack'

_PATH = ('nfv', 'VDU')
_KNOWN = frozenset(statements.REQUEST.names.values())


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """The additionalParams of *where*, which is a name for messages."""

    where: str
    parameters: Mapping[str, Any]

    def wishes(self) -> Iterator[tuple[str, str, Any]]:
        """VDU, key and value of what is ours, or much like ours."""
        quiet = problem.Place([], '')
        for vdu, raw in quiet.section(dict(self.parameters),
                                      *_PATH).items():
            for key, value in raw.items() if isinstance(raw, dict) else ():
                if statements.is_like_ours(key):
                    yield str(vdu), key, value


#: The additionalParams of one request, or those of several, the last wins.
Request = Mapping[str, Any] | Iterable[Asked]


def read(parts: topology.Topology, request: Request,
         found: list[problem.Problem]
         ) -> dict[str, list[statements.Statement]]:
    """Statements by VDU, the strongest first."""
    several = ([Asked(REQUEST, request)] if isinstance(request, Mapping)
               else list(request))
    values: dict[str, dict[str, dict[str, Any]]] = {}
    for one in several:
        place = problem.Place(found, one.where)
        _check_places(place, one.parameters)
        place.section(dict(one.parameters), *_PATH)
        for vdu, key, value in one.wishes():
            _lay(values.setdefault(vdu, {}), one.where, key, value)
    stated = {}
    for vdu, by_place in values.items():
        said = list(_statements(found, vdu, by_place,
                                [one.where for one in reversed(several)]))
        if said and vdu not in parts.vdus:
            (said[0].place or problem.Place(found, REQUEST)).say(
                'there is no such VDU', problem.nearest(vdu, parts.vdus))
        elif said:
            stated[vdu] = said
    return stated


def _check_places(place: problem.Place, parameters: Mapping[str, Any]
                  ) -> None:
    for path, key, value in unread.keys(dict(parameters), ()):
        if path[:2] != _PATH or len(path) != len(_PATH) + 1:
            place.add(key, value, 'nobody reads it here',
                      'move it to ' + ' > '.join(_PATH) + ' > the VDU')


def _lay(by_place: dict[str, dict[str, Any]], where: str, key: str,
         value: Any) -> None:
    """Put a value of one place over those of the places before it."""
    had = [values.pop(key) for values in by_place.values() if key in values]
    if value is not None or not (had or key in _KNOWN):
        by_place.setdefault(where, {})[key] = value


def _statements(found: list[problem.Problem], vdu: str,
                by_place: Mapping[str, Mapping[str, Any]],
                places: Iterable[str]) -> Iterator[statements.Statement]:
    inputs = tosca_inputs.Inputs({}, {})
    for where in places:
        said = statements.read(
            problem.Place(found, where, vdu), statements.REQUEST,
            by_place.get(where, {}), inputs.resolve)
        if said is not None:
            yield said
