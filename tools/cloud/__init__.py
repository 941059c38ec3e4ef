# SPDX-License-Identifier: Apache-2.0

"""The embedded cloud: a small real OpenStack on one machine.

Keystone, Placement, Glance and Neutron's API run as one process each on
SQLite; all Nova services run in one process on real libvirt LXC.  The cloud is
not a part of the product: nova_rt never imports it.
"""
