# SPDX-License-Identifier: Apache-2.0

"""Compares plain data of one source with data of another; reads nothing."""
