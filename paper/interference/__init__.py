# SPDX-License-Identifier: Apache-2.0

"""Compares pairs of reserved network functions with predictions."""
