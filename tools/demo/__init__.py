# SPDX-License-Identifier: Apache-2.0

"""The demonstration shows on a cloud what a reservation does."""
