# SPDX-License-Identifier: Apache-2.0

"""The lab boots any kernel in a virtual machine and runs our tests on it.

QEMU boots the kernel with a Debian root, without network, KVM or loop
devices.  The lab is not a part of the product: nova_rt never imports it.
"""
