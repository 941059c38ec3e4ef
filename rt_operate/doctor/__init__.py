# SPDX-License-Identifier: Apache-2.0

"""``nova-rt doctor``: finds what keeps this host from offering reservations.

Each topic is a module of ``checks``, and ``examine`` runs all checks.  No
module of this package writes anything or needs Nova.  The package needs
oslo.config only if there is a nova.conf.
"""
