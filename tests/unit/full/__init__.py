# SPDX-License-Identifier: Apache-2.0

"""Tests of what judges the long runs of tests/full."""
