# SPDX-License-Identifier: Apache-2.0

"""Reservations, seen by those who use a cloud: tests for Tempest."""
