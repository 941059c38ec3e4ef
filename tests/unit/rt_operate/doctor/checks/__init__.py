# SPDX-License-Identifier: Apache-2.0

"""Tests of rt_operate.doctor.checks on trees of files."""
