# SPDX-License-Identifier: Apache-2.0

"""The name that files of rootwrap and sudo have; it stays as it is.

The code is in ``nova_rt.machine.privsep``.
"""

from nova_rt.machine.privsep import cgroup_pctxt

__all__ = ['cgroup_pctxt']
