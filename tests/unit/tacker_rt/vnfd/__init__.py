# SPDX-License-Identifier: Apache-2.0

"""Tests of tacker_rt.vnfd."""
