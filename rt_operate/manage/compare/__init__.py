# SPDX-License-Identifier: Apache-2.0

"""Compares data of different sources; other modules read the data."""
