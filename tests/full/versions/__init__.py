# SPDX-License-Identifier: Apache-2.0

"""Tests whether two built versions of nova-rt read each other's data."""
