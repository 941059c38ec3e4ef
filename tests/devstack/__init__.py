# SPDX-License-Identifier: Apache-2.0

"""Tests of the DevStack plugin, without DevStack.

stand_in.sh has the functions that the plugin calls.  With a checkout of
DevStack in DEVSTACK_DIR, the tests compare these functions with the real ones.
"""
