# SPDX-License-Identifier: Apache-2.0

"""Find the interface of the running kernel."""

import importlib.metadata

from nova_rt.kernel import base

GROUP = 'nova_rt.kernel'


def detect(fs: base.CgroupFS, name: str | None = None
           ) -> base.KernelInterface | None:
    """Ask each interface whether the kernel has it.

    :param name: ask only this one (``[nova_rt] kernel_interface``)
    :returns: the interface, or None where the kernel has none of them
    :raises LookupError: no interface is called *name*
    """
    entries = {entry.name: entry for entry
               in importlib.metadata.entry_points(group=GROUP)}
    if name is not None and name not in entries:
        raise LookupError(f'there is none of this name; known are '
                          f'{", ".join(sorted(entries))}')
    for key in [name] if name else sorted(entries):
        found: base.KernelInterface | None = entries[key].load().detect(fs)
        if found is not None:
            return found
    return None
