# SPDX-License-Identifier: Apache-2.0

"""Tests of rt_operate.doctor on trees of files."""
