# SPDX-License-Identifier: Apache-2.0

"""The lab's own parts, which need no virtual machine."""
