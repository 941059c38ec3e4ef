# SPDX-License-Identifier: Apache-2.0

"""Tools that a person runs: they check, compare and repair.

No service imports this package; this package may import all others.
"""
