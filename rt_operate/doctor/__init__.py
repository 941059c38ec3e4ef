# SPDX-License-Identifier: Apache-2.0

"""``nova-rt doctor``: what stands between this host and reservations.

Each topic is a module of ``checks``; ``examine`` runs them all.  Nothing here
writes, and nothing here needs Nova; oslo.config only where there is a
nova.conf.
"""
