# SPDX-License-Identifier: Apache-2.0

"""User data classes for Tacker: v1 and v2 of its life-cycle API."""
