# SPDX-License-Identifier: Apache-2.0

"""An invented kernel interface, as somebody else would package one.

``interface`` is the one module, ``installed`` the one entry point, and
``kernel`` a kernel that has it.  Nothing of it is known to nova_rt.
"""
