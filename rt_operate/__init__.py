# SPDX-License-Identifier: Apache-2.0

"""Looks, compares and repairs, when a person asks for it.

No service imports this package; it may import all the others.
"""
