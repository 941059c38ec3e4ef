# SPDX-License-Identifier: Apache-2.0

"""``nova-rt doctor``: finds what keeps this host from offering reservations.

Each topic is a module of ``checks``, and ``examine`` runs all checks.  No
module here writes anything or needs Nova.  oslo.config is needed only where
there is a nova.conf.
"""
