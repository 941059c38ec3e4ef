# SPDX-License-Identifier: Apache-2.0

"""Finds strangers: guests with a budget that Nova does not have here.

libvirt keeps a mark with each stranger while it runs.  By the mark,
``nova-rt doctor`` can name strangers without asking a database.
"""

from collections.abc import Collection
from typing import Any

import libvirt
from oslo_log import log as logging

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import labels
from nova_rt.services.virt.libvirt import marks
from nova_rt.services.virt.libvirt import reservations

LOG = logging.getLogger(__name__)


class Strangers:
    """The strangers among the guests of one host.

    :param owed: the guests of this host, and the enforcer that reads their
        budgets
    :param host: Nova's connection to libvirt
    """

    def __init__(self, owed: reservations.Reservations, host: Any) -> None:
        self._reservations = owed
        self._host = host
        self._found: dict[str, hostmap.Stranger] = {}
        self._marks = marks.Marks('unknown', labels.UNKNOWN)

    def find(self, known: Collection[str]) -> list[hostmap.Stranger]:
        """Returns the guests with a budget whose uuids are not *known*.

        The shares that a stranger holds may have no pCPUs.
        """
        domains = self._domains()
        self._found = {
            uuid: stranger for uuid, domain in domains.items()
            if uuid not in known
            and (stranger := self._stranger(uuid, domain))}
        self._marks.put(self._found, domains)
        return [*self._found.values()]

    def _domains(self) -> dict[str, Any]:
        return {guest.uuid: guest._domain for guest
                in self._host.list_guests(only_running=True)}

    def _stranger(self, uuid: str, domain: Any) -> hostmap.Stranger | None:
        """Returns the stranger; None for a guest without a budget."""
        target = self._reservations.enforcer
        if target is None:
            return None
        try:
            shares = tuple(target.shares(self._reservations.pid(uuid)))
            return hostmap.Stranger(
                uuid, str(domain.name()), shares) if shares else None
        except (LookupError, libvirt.libvirtError):
            return None  # The guest has ended.
        except exception.KernelError as error:
            LOG.debug('Cannot read the budget of guest %s: %s', uuid,
                      str(error))
            return self._found.get(uuid)  # as it was in the last search
