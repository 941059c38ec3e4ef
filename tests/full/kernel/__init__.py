# SPDX-License-Identifier: Apache-2.0

"""Long runs on the kernel of a machine, which may die of such a run."""
