# SPDX-License-Identifier: Apache-2.0

"""Long runs on the kernel of a machine that may die of them."""
