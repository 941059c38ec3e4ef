# SPDX-License-Identifier: Apache-2.0

"""An invented kernel interface, as another project would package one.

``interface`` is its only module, ``installed`` its only entry point, and
``kernel`` a kernel with this interface.  nova_rt does not know of it.
"""
