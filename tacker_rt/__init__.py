# SPDX-License-Identifier: Apache-2.0

"""Real-time CPU reservations in VNF descriptors, for OpenStack Tacker.

Nothing yet but the name: the package is reserved for the VNFD reader, the
TOSCA types and the user data classes.
"""
