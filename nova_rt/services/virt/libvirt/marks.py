# SPDX-License-Identifier: Apache-2.0

"""Marks that libvirt keeps with guests while they run.

``nova-rt doctor``, which asks neither nova-compute nor a database, names
guests by them.
"""

from collections.abc import Collection, Mapping
import contextlib
from typing import Any

import libvirt


class Marks:
    """One kind of mark, on the guests of one host.

    :param name: of the element, and of its namespace to libvirt
    :param namespace: of the element, one of ``nova_rt.rules.labels``
    """

    def __init__(self, name: str, namespace: str) -> None:
        self._name = name
        self._namespace = namespace
        #: None: nobody looked since nova-compute has started
        self._marked: set[str] | None = None

    def put(self, wanted: Collection[str], domains: Mapping[str, Any]
            ) -> None:
        """Mark just the guests *wanted* among all that run, by uuid."""
        if self._marked is None:
            self._marked = {uuid for uuid, domain in domains.items()
                            if self._is_marked(domain)}
        found = set(wanted) & domains.keys()
        for uuid in found - self._marked:
            self._set(domains[uuid], f'<{self._name}/>')
        for uuid in (self._marked & domains.keys()) - found:
            self._set(domains[uuid], None)
        self._marked = found

    def _is_marked(self, domain: Any) -> bool:
        with contextlib.suppress(libvirt.libvirtError):
            return bool(domain.metadata(
                libvirt.VIR_DOMAIN_METADATA_ELEMENT, self._namespace,
                libvirt.VIR_DOMAIN_AFFECT_LIVE))
        return False

    def _set(self, domain: Any, mark: str | None) -> None:
        """A guest that has ended needs no mark."""
        with contextlib.suppress(libvirt.libvirtError):
            domain.setMetadata(
                libvirt.VIR_DOMAIN_METADATA_ELEMENT, mark,
                f'nova-rt-{self._name}', self._namespace,
                libvirt.VIR_DOMAIN_AFFECT_LIVE)
