# SPDX-License-Identifier: Apache-2.0

"""Models that predict response times from a reservation, and the inverse.

This package is pure: it needs at most numpy.  ``paper`` has the equations as
published.  ``exact`` is the model of a server without others on its pCPU, and
``contended`` has bounds that hold beside any others.  ``simulator`` is the
ground truth for all of them, by the rules of each ``kernel``.
"""
