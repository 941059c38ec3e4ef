# SPDX-License-Identifier: Apache-2.0

"""Reads what requests ask for in ``nfv.VDU.<vdu>`` of additionalParams.

One VNF may have several sources: the kept values of earlier requests, the
current request, and its grant.  For each key, a later source overrides an
earlier one, and null in a later source takes an earlier wish back.
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
    """The additionalParams of one source.

    :ivar where: the name of the source for messages
    """

    where: str
    parameters: Mapping[str, Any]

    def wishes(self) -> Iterator[tuple[str, str, Any]]:
        """Yields VDU, key and value of keys that resemble a key of nova-rt."""
        quiet = problem.Place([], '')
        for vdu, raw in quiet.section(dict(self.parameters),
                                      *_PATH).items():
            for key, value in raw.items() if isinstance(raw, dict) else ():
                if statements.is_like_ours(key):
                    yield str(vdu), key, value


#: The additionalParams of one request, or several sources; the last wins.
Request = Mapping[str, Any] | Iterable[Asked]


def read(parts: topology.Topology, request: Request,
         problems: list[problem.Problem]
         ) -> dict[str, list[statements.Statement]]:
    """Returns the statements of requests by VDU, the strongest first."""
    sources = ([Asked(REQUEST, request)] if isinstance(request, Mapping)
               else list(request))
    values: dict[str, dict[str, dict[str, Any]]] = {}
    for source in sources:
        place = problem.Place(problems, source.where)
        _check_places(place, source.parameters)
        place.section(dict(source.parameters), *_PATH)
        for vdu, key, value in source.wishes():
            _lay(values.setdefault(vdu, {}), source.where, key, value)
    stated = {}
    for vdu, by_place in values.items():
        wishes = list(_statements(
            problems, vdu, by_place,
            [source.where for source in reversed(sources)]))
        if wishes and vdu not in parts.vdus:
            (wishes[0].place or problem.Place(problems, REQUEST)).say(
                'the VNFD has no such VDU', problem.nearest(vdu, parts.vdus))
        elif wishes:
            stated[vdu] = wishes
    return stated


def _check_places(place: problem.Place, parameters: Mapping[str, Any]
                  ) -> None:
    for path, key, value in unread.keys(dict(parameters), ()):
        if path[:2] != _PATH or len(path) != len(_PATH) + 1:
            place.add(key, value, 'this key is not read here',
                      'move it to ' + ' > '.join(_PATH) + ' > the VDU')


def _lay(by_place: dict[str, dict[str, Any]], where: str, key: str,
         value: Any) -> None:
    """Overrides the values of earlier sources with the value of a source."""
    earlier = [values.pop(key) for values in by_place.values()
               if key in values]
    if value is not None or not (earlier or key in _KNOWN):
        by_place.setdefault(where, {})[key] = value


def _statements(problems: list[problem.Problem], vdu: str,
                by_place: Mapping[str, Mapping[str, Any]],
                places: Iterable[str]) -> Iterator[statements.Statement]:
    inputs = tosca_inputs.Inputs({}, {})
    for where in places:
        statement = statements.read(
            problem.Place(problems, where, vdu), statements.REQUEST,
            by_place.get(where, {}), inputs.resolve)
        if statement is not None:
            yield statement
