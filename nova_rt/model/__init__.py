# SPDX-License-Identifier: Apache-2.0

"""Response times from a reservation and back.  Pure: numpy at most.

``paper`` has the equations as published, ``exact`` the model to plan with,
``simulator`` the ground truth of both.
"""
