# SPDX-License-Identifier: Apache-2.0

"""User data classes for v1 and v2 of Tacker's life-cycle API."""
