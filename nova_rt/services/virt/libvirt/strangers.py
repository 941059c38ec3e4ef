# SPDX-License-Identifier: Apache-2.0

"""Finds guests that Nova does not have on this host and that hold a budget.

libvirt keeps a mark with each of them while it runs, by which
``nova-rt doctor``, which asks no database, can name them.
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
#: What libvirt calls the namespace of the mark.
_KEY = 'nova-rt-unknown'


class Strangers:
    """The strangers among the guests of one host.

    :param owed: which knows the guests, and what reads their budgets
    :param host: Nova's connection to libvirt
    """

    def __init__(self, owed: reservations.Reservations, host: Any) -> None:
        self._reservations = owed
        self._host = host
        self._found: dict[str, hostmap.Stranger] = {}
        #: None: nobody looked since nova-compute has started
        self._marked: set[str] | None = None

    def find(self, known: Collection[str]) -> list[hostmap.Stranger]:
        """The guests with a budget beside those that are *known*, by uuid.

        What they hold may have no pCPUs.
        """
        domains = self._domains()
        self._found = {
            uuid: found for uuid, domain in domains.items()
            if uuid not in known and (found := self._look(uuid, domain))}
        self._mark(domains)
        return [*self._found.values()]

    def _domains(self) -> dict[str, Any]:
        return {guest.uuid: guest._domain for guest
                in self._host.list_guests(only_running=True)}

    def _look(self, uuid: str, domain: Any) -> hostmap.Stranger | None:
        """None for one without a budget."""
        target = self._reservations.enforcer
        if target is None:
            return None
        try:
            held = tuple(target.held(self._reservations.pid(uuid)))
            return hostmap.Stranger(
                uuid, str(domain.name()), held) if held else None
        except (LookupError, libvirt.libvirtError):
            return None  # it has ended
        except exception.KernelError as error:
            LOG.debug('What guest %s holds cannot be told: %s', uuid,
                      str(error))
            return self._found.get(uuid)  # as it was when last seen

    # For the doctor.

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
    """A guest that has ended needs no mark."""
    with contextlib.suppress(libvirt.libvirtError):
        domain.setMetadata(
            libvirt.VIR_DOMAIN_METADATA_ELEMENT, mark, _KEY, labels.UNKNOWN,
            libvirt.VIR_DOMAIN_AFFECT_LIVE)
