# SPDX-License-Identifier: Apache-2.0

"""Servers and VNFs with reservations."""
