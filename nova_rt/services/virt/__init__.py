# SPDX-License-Identifier: Apache-2.0

"""The virt drivers of nova_rt, and the shim by which Nova finds them."""
