# SPDX-License-Identifier: Apache-2.0

"""Tests for Tempest of reservations, as users of a cloud see them."""
