# SPDX-License-Identifier: Apache-2.0

"""Which pipelines of nova-api have the middleware, by its ``api-paste.ini``.

Nova serves the same API at ``/v2.1`` and, by another pipeline, at ``/v2``.
"""

import configparser
import dataclasses

_FILTER = 'egg:nova-rt#reservation_hints'
_PIPELINES = 'composite:openstack_compute_api_'
#: Which of the pipelines of a section counts: the other one, noauth2, which
#: Nova had up to 33, is for tests.
_STRATEGY = 'keystone'


@dataclasses.dataclass(frozen=True, slots=True)
class Pipelines:
    """Those of the compute API, by the names of their sections.

    :ivar having: hints are checked there
    :ivar lacking: they are not
    """

    having: tuple[str, ...]
    lacking: tuple[str, ...]


def read(text: str) -> Pipelines:
    """What a file says.

    :raises ValueError: it is no such file
    """
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(' '.join(str(error).split())) from error
    ours = {name.partition(':')[2] for name in parser.sections()
            if name.startswith('filter:')
            and parser.get(name, 'use', fallback='') == _FILTER}
    found: dict[bool, list[str]] = {True: [], False: []}
    for name in parser.sections():
        if name.startswith(_PIPELINES):
            words = parser.get(name, _STRATEGY, fallback='').split()
            found[bool(ours & {*words[:-1]})].append(name)
    return Pipelines(tuple(found[True]), tuple(found[False]))
