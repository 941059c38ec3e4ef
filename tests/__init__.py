# SPDX-License-Identifier: Apache-2.0

"""Tests of nova_rt and tacker_rt, and what they run on."""
