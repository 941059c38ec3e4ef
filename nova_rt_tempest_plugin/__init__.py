# SPDX-License-Identifier: Apache-2.0

"""Tests of reservations for Tempest, as users of a cloud see them."""
