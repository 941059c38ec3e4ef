# SPDX-License-Identifier: Apache-2.0

"""``openstack rt``: shows who has which reservation, and where there is room.

A plug-in of python-openstackclient.  It talks to Nova and Placement, and
decides by ``nova_rt.rules``.  Nothing here runs in a service or reads a host.
"""
