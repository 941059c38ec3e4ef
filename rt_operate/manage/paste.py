# SPDX-License-Identifier: Apache-2.0

"""Finds the pipelines with our middleware in ``api-paste.ini`` of nova-api.

Nova serves the same API at ``/v2.1`` and, by another pipeline, at ``/v2``.
"""

import configparser
import dataclasses

_FILTER = 'egg:nova-rt#reservation_hints'
_PIPELINES = 'composite:openstack_compute_api_'
#: The key of the pipeline that counts.  The pipeline noauth2, which Nova had
#: up to release 33, was for tests.
_STRATEGY = 'keystone'


@dataclasses.dataclass(frozen=True, slots=True)
class Pipelines:
    """The pipelines of the compute API, as names of sections.

    :ivar having: the pipelines that have the middleware and check hints
    :ivar lacking: the pipelines that do not have the middleware
    """

    having: tuple[str, ...]
    lacking: tuple[str, ...]


def read(text: str) -> Pipelines:
    """Returns the pipelines in the text of a file.

    :raises ValueError: when the text is not an INI file
    """
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ValueError(' '.join(str(error).split())) from error
    filters = {name.partition(':')[2] for name in parser.sections()
               if name.startswith('filter:')
               and parser.get(name, 'use', fallback='') == _FILTER}
    pipelines: dict[bool, list[str]] = {True: [], False: []}
    for name in parser.sections():
        if name.startswith(_PIPELINES):
            words = parser.get(name, _STRATEGY, fallback='').split()
            pipelines[bool(filters & {*words[:-1]})].append(name)
    return Pipelines(tuple(pipelines[True]), tuple(pipelines[False]))
