# SPDX-License-Identifier: Apache-2.0

"""The module name in files of rootwrap and sudo, kept for upgrades.

The code is in ``nova_rt.machine.privsep``.
"""

from nova_rt.machine.privsep import cgroup_pctxt

__all__ = ['cgroup_pctxt']
