# SPDX-License-Identifier: Apache-2.0

"""A cloud small enough for thousands of operations.

The filter, the weigher, the host states, the request filter, the tracker
with Nova's own below it, the driver's part of this project, its enforcer and
reconciler are those of production, as is Nova's scheduler manager.  Faked
are the database, Placement and libvirt; what Nova's conductor and compute
manager do in between is told again in ``cloud`` and ``moves``.
"""
