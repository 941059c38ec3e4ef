# SPDX-License-Identifier: Apache-2.0

"""The lab: any kernel in a virtual machine, and our tests on it.

QEMU boots the kernel with a Debian root, without network, KVM or loop
devices. Nothing in here belongs to the product: nova_rt never imports it.
"""
