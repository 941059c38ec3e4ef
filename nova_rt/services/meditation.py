# SPDX-License-Identifier: Apache-2.0

"""Adds a section to the Guru Meditation Report of Nova's services.

A service of Nova writes the report to its log when it gets SIGUSR2.  The
handler of the signal interrupts the main thread, so that nothing here takes a
lock or logs.
"""

from collections.abc import Callable, Mapping
from typing import Any

from oslo_reports import guru_meditation_report
from oslo_reports.models import with_default_views

from nova_rt.services import events
from nova_rt import version

TITLE = 'CPU reservations'

#: The states of the services in this process, by the name of the service.
_parts: dict[str, Callable[[], Mapping[str, Any]]] = {}


def register(service: str, state: Callable[[], Mapping[str, Any]] = dict
             ) -> None:
    """Adds a service of this process to the section; the last call counts.

    :param state: returns texts, numbers, lists and mappings of these, and
        takes no lock
    """
    if not _parts:
        guru_meditation_report.TextGuruMeditation.register_section(
            TITLE, section)
    _parts[service] = state


def section() -> Any:
    """Returns the model of the section; never raises."""
    return with_default_views.ModelWithDefaultViews({
        'version': version.get(),
        **{service: _state(state) for service, state in _parts.items()},
        'last events, the newest at the end': [*events.recent] or 'none'})


def _state(state: Callable[[], Mapping[str, Any]]) -> Any:
    # An error here would cost the whole report.
    try:
        return with_default_views.ModelWithDefaultViews(state())
    except Exception as error:
        return f'{type(error).__name__}: {error}'
