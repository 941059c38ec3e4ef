# SPDX-License-Identifier: Apache-2.0

"""Reads cells, Placement and the kernel of this host for a comparison."""
