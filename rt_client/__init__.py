# SPDX-License-Identifier: Apache-2.0

"""``openstack rt``: shows reservations, and which hosts have room.

A plug-in of python-openstackclient.  The plug-in asks Nova and Placement, and
decides by ``nova_rt.rules``.  No code of this package runs in a service or
reads a host.
"""
