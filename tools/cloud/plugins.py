# SPDX-License-Identifier: Apache-2.0

"""Avoids slow imports of code that the cloud never uses.

stevedore finds the plug-ins of a service in a tenth of the time, and Keystone
starts without the schemas of SAML.
"""

from collections.abc import Iterable
from importlib import metadata
import itertools
import sys
import types
from typing import Any

from stevedore import _cache


def list_at_once() -> None:
    """Lets stevedore group all entry points in one pass.

    stevedore asks importlib.metadata for each of 200 groups, and Python 3.11
    looks at all entry points of all packages each time.  stevedore keeps its
    answer in a file, but the file is for one state of the directories in
    sys.path, and that state changes with every cloud.
    """
    _cache._build_cacheable_data = _build  # type: ignore[assignment]


def leave_out_saml() -> None:
    """Lets Keystone start without SAML's XML schemas, a third of its start.

    Only federation with other identity providers needs the schemas.
    """
    name = 'saml2.xml.schema'
    sys.modules[name] = schema = types.ModuleType(name)
    vars(schema).update(XMLSchemaError=ValueError, validate=_refuse_saml)


def _refuse_saml(document: object) -> None:
    raise ValueError('the embedded cloud has no SAML')


def _build() -> dict[str, Any]:
    """Returns the same as the function of stevedore."""
    groups: dict[str, dict[tuple[str, str, str], None]] = {}
    for point in _all():
        item = point.name, point.value, point.group
        groups.setdefault(point.group, {})[item] = None
    return {'groups': {name: list(items) for name, items in groups.items()},
            'sys.executable': sys.executable, 'sys.prefix': sys.prefix,
            'path_values': []}


def _all() -> Iterable[metadata.EntryPoint]:
    points: Any = metadata.entry_points()
    # Python 3.11 has a dictionary of groups, later versions have a sequence.
    return itertools.chain.from_iterable(dict.values(points)) if isinstance(
        points, dict) else points
