# SPDX-License-Identifier: Apache-2.0

"""A cloud small enough for thousands of operations.

These parts are those of production: the filter, the weigher, the host states,
the request filter, the tracker with Nova's own tracker below it, this
project's part of the driver, its enforcer and its reconciler, and Nova's
scheduler manager.  The database, Placement and libvirt are fakes.  ``cloud``
and ``moves`` repeat what Nova's conductor and compute manager do in between.
"""
