# SPDX-License-Identifier: Apache-2.0

"""Pairs of reserved network functions, against what is predicted of them."""
