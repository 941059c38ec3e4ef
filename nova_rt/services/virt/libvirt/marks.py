# SPDX-License-Identifier: Apache-2.0

"""Marks guests in libvirt for as long as the guests run.

``nova-rt doctor`` asks neither nova-compute nor a database; it finds guests by
their marks.
"""

from collections.abc import Collection, Mapping
import contextlib
from typing import Any

import libvirt


class Marks:
    """One kind of mark, on the guests of one host.

    :param name: the name of the XML element; libvirt's prefix of its namespace
        is made from this name
    :param namespace: the namespace of the element, one of
        ``nova_rt.rules.labels``
    """

    def __init__(self, name: str, namespace: str) -> None:
        self._name = name
        self._namespace = namespace
        #: the guests that have the mark; None until the first search after
        #: the start of nova-compute
        self._marked: set[str] | None = None

    def put(self, wanted: Collection[str], domains: Mapping[str, Any]
            ) -> None:
        """Marks the guests *wanted*, and removes the mark from all others.

        :param domains: the running guests by UUID
        """
        if self._marked is None:
            self._marked = {uuid for uuid, domain in domains.items()
                            if self._is_marked(domain)}
        present = set(wanted) & domains.keys()
        for uuid in present - self._marked:
            self._set(domains[uuid], f'<{self._name}/>')
        for uuid in (self._marked & domains.keys()) - present:
            self._set(domains[uuid], None)
        self._marked = present

    def _is_marked(self, domain: Any) -> bool:
        with contextlib.suppress(libvirt.libvirtError):
            return bool(domain.metadata(
                libvirt.VIR_DOMAIN_METADATA_ELEMENT, self._namespace,
                libvirt.VIR_DOMAIN_AFFECT_LIVE))
        return False

    def _set(self, domain: Any, mark: str | None) -> None:
        """Sets or removes the mark; a guest that has ended needs none."""
        with contextlib.suppress(libvirt.libvirtError):
            domain.setMetadata(
                libvirt.VIR_DOMAIN_METADATA_ELEMENT, mark,
                f'nova-rt-{self._name}', self._namespace,
                libvirt.VIR_DOMAIN_AFFECT_LIVE)
