# SPDX-License-Identifier: Apache-2.0

"""Response times from a reservation and back.  Pure: numpy at most.

``paper`` has the equations as published, ``exact`` the model of a lone
server, ``contended`` what holds in any company, ``simulator`` the ground
truth of all, with the rules of each ``kernel``.
"""
