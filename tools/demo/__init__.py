# SPDX-License-Identifier: Apache-2.0

"""The demonstration: what a reservation does, on the embedded cloud."""
