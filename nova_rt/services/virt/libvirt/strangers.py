# SPDX-License-Identifier: Apache-2.0

"""Finds strangers: guests with a budget that Nova does not have here.

libvirt keeps a mark with each stranger while it runs.  By the mark,
``nova-rt doctor`` can name strangers without asking a database.
"""

from collections.abc import Collection
import contextlib
from typing import Any

import libvirt
from oslo_log import log as logging

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import labels
from nova_rt.services.virt.libvirt import reservations

LOG = logging.getLogger(__name__)

_MARK = '<unknown/>'
#: The prefix of the namespace of the mark in libvirt.
_KEY = 'nova-rt-unknown'


class Strangers:
    """The strangers among the guests of one host.

    :param owed: knows the guests and the enforcer that reads their budgets
    :param host: Nova's connection to libvirt
    """

    def __init__(self, owed: reservations.Reservations, host: Any) -> None:
        self._reservations = owed
        self._host = host
        self._found: dict[str, hostmap.Stranger] = {}
        #: the guests that have the mark; None until the first search after
        #: the start of nova-compute
        self._marked: set[str] | None = None

    def find(self, known: Collection[str]) -> list[hostmap.Stranger]:
        """Returns the guests with a budget whose uuids are not *known*.

        The shares that a stranger holds may have no pCPUs.
        """
        domains = self._domains()
        self._found = {
            uuid: stranger for uuid, domain in domains.items()
            if uuid not in known and (stranger := self._look(uuid, domain))}
        self._mark(domains)
        return [*self._found.values()]

    def _domains(self) -> dict[str, Any]:
        return {guest.uuid: guest._domain for guest
                in self._host.list_guests(only_running=True)}

    def _look(self, uuid: str, domain: Any) -> hostmap.Stranger | None:
        """Returns the stranger; None for a guest without a budget."""
        target = self._reservations.enforcer
        if target is None:
            return None
        try:
            held = tuple(target.held(self._reservations.pid(uuid)))
            return hostmap.Stranger(
                uuid, str(domain.name()), held) if held else None
        except (LookupError, libvirt.libvirtError):
            return None  # The guest has ended.
        except exception.KernelError as error:
            LOG.debug('Cannot read the budget of guest %s: %s', uuid,
                      str(error))
            return self._found.get(uuid)  # as it was in the last search

    # The following method is for nova-rt doctor.

    def _mark(self, domains: dict[str, Any]) -> None:
        if self._marked is None:
            self._marked = {uuid for uuid, domain in domains.items()
                            if _is_marked(domain)}
        for uuid in self._found.keys() - self._marked:
            _set(domains[uuid], _MARK)
        for uuid in (self._marked & domains.keys()) - self._found.keys():
            _set(domains[uuid], None)
        self._marked = set(self._found)


def _is_marked(domain: Any) -> bool:
    with contextlib.suppress(libvirt.libvirtError):
        return bool(domain.metadata(
            libvirt.VIR_DOMAIN_METADATA_ELEMENT, labels.UNKNOWN,
            libvirt.VIR_DOMAIN_AFFECT_LIVE))
    return False


def _set(domain: Any, mark: str | None) -> None:
    """Sets or removes the mark; a guest that has ended needs none."""
    with contextlib.suppress(libvirt.libvirtError):
        domain.setMetadata(
            libvirt.VIR_DOMAIN_METADATA_ELEMENT, mark, _KEY, labels.UNKNOWN,
            libvirt.VIR_DOMAIN_AFFECT_LIVE)
